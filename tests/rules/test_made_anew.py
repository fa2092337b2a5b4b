"""Methods of an object that compiled code makes, that need an object which Dynamo cannot make from nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from graphdoctor.lint.engine import analyse

HEAD = """\
import functools
import inspect
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


def checked(function):
    signature = inspect.signature(function)

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        signature.bind(*args, **kwargs)
        return function(*args, **kwargs)

    return wrapper


def counted(function):
    names = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        assert len(args) <= len(names)
        return function(*args, **kwargs)

    return wrapper


class Checked(Box):
    @checked
    def __init__(self, x):
        super().__init__(x)

    @counted
    def counted(self):
        return self.x

    @checked
    def checked(self):
        return self.x


class Counted(Box):
    @counted
    def __init__(self, x):
        super().__init__(x)

    @checked
    def checked(self):
        return self.x


def limited(limits, name):
    class Inner:
        def __init__(self, x):
            self.x = x
            self.name = name

        def scaled(self):
            return self.x * limits.low

    return Inner


Inner = limited(Limits(), "inner")


@checked
def plain(x):
    return x + 1


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
        ("return Checked(x).x + 1", True),
        ("return Counted(x).x + 1", False),
        ("return Counted(x).checked() + 1", True),
        ("return Inner(x).scaled() + 1", True),
        ("return Inner(x).x + 1", False),
        ("return plain(x) + 1", False),
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
        assert ("default" in finding.message or "closure" in finding.message) and "outside" in finding.suggestion


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


DECORATORS = """\
import functools
import inspect


def checked(**options):
    def decorate(function):
        signature = inspect.signature(function)

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            signature.bind(*args, **kwargs)
            return function(*args, **kwargs)

        return wrapper

    return decorate
"""

DECORATED = """\
import torch
from checks_of_calls import checked


class Box:
    @checked(strict=True)
    def __init__(self, x):
        self.x = x


@torch.compile(backend="eager")
def f(x):
    return Box(x).x + 1
"""


def test_the_decorator_of_another_module(
    splits: Callable[..., bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    file = tmp_path / "model.py"
    file.write_text(DECORATED)
    (tmp_path / "checks_of_calls.py").write_text(DECORATORS)
    monkeypatch.setitem(sys.modules, "checks_of_calls", ModuleType("checks_of_calls"))
    exec(DECORATORS, vars(sys.modules["checks_of_calls"]))
    assert splits(DECORATED, "f", torch.ones(2))
    (finding,) = analyse([(file, "model.py")]).findings
    assert (finding.rule, finding.location.line) == ("GD405", 13)
    assert finding.fix is not None and not finding.fix.edits
    assert finding.fix.reason == "What a function has as a default or in its closure, its other callers need too."
