"""Methods of an object that compiled code makes, whose default is an object that Dynamo cannot make from nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from graphdoctor.lint.engine import analyse

HEAD = """\
from dataclasses import dataclass
from typing import NamedTuple

import torch


class Limits:
    low = 1


class Pair(NamedTuple):
    low: int = 1


LIMITS, ZERO = Limits(), torch.zeros(())


class Box:
    def __init__(self, x, limits=None):
        self.x = x

    def scaled(self, limits=LIMITS):
        return self.x * limits.low

    @classmethod
    def of(cls, x, limits=LIMITS):
        return cls(x)


class Limited(Box):
    def __init__(self, x, limits=LIMITS):
        super().__init__(x)


class Started(Box):
    def __init__(self, x, *, start=ZERO):
        super().__init__(x)


class Activated(Box):
    def __init__(self, x, activation=torch.nn.ReLU()):
        super().__init__(x)


class Plain(Box):
    def __init__(self, x, pair=Pair(), sizes=(1, 2), names={"a": 1}, dtype=torch.float32, act=torch.relu):
        super().__init__(x)


@dataclass
class Record:
    x: torch.Tensor
    limits: Limits = LIMITS


KEPT = Box(torch.ones(2))


@torch.compile(backend="eager")
def f(x):
"""


@pytest.mark.parametrize(
    ("body", "breaks"),
    [
        ("return Limited(x).x + 1", True),
        ("return Started(x).x + 1", True),
        ("return Activated(x).x + 1", True),
        ("return Record(x).x + 1", True),
        ("return Box(x).scaled() + 1", True),
        ("return Limited(x, LIMITS).x + 1", False),
        ("return Started(x, start=None).x + 1", False),
        ("return Record(x, LIMITS).x + 1", False),
        ("return Box(x).scaled(LIMITS) + 1", False),
        ("return Box.of(x).x + 1", False),
        ("return Plain(x).x + 1", False),
        ("return KEPT.scaled() + x", False),
    ],
)
def test_the_default_of_a_method_of_an_object_made_in_compiled_code(
    splits: Callable[..., bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, breaks: bool
) -> None:
    import torch

    # Where a dataclass looks up its annotations.
    monkeypatch.setitem(sys.modules, "source", ModuleType("source"))
    source = HEAD + f"    {body}\n"
    assert splits(source, "f", torch.ones(2)) is breaks
    file = tmp_path / "model.py"
    file.write_text(source)
    found = analyse([(file, "model.py")]).findings
    assert [(f.rule, f.location.line) for f in found] == [("GD405", source.count("\n"))] * breaks
    if breaks:
        (finding,) = found
        assert "default" in finding.message and "outside" in finding.suggestion


def test_once_the_graph_has_ended_the_object_is_there(
    splits: Callable[..., bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setitem(sys.modules, "source", ModuleType("source"))
    body = "    box = Box(x)\n    print(1)\n    return box.scaled() + 1\n"
    assert splits(HEAD + body, "f", torch.ones(2))
    file = tmp_path / "model.py"
    file.write_text(HEAD + body)
    assert [f.rule for f in analyse([(file, "model.py")]).findings] == ["GD101"]
