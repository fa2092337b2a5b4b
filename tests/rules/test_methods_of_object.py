"""Methods of ``object`` that are called by their class: most are traced, the making of a bare ``object()`` is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

HEAD = """\
import torch


class Kept:
    def __init__(self):
        self.scale = 1


class Made:
    def __new__(cls, scale):
        return object.__new__(cls)

    def __init__(self, scale):
        object.__init__(self)
        object.__setattr__(self, "scale", scale)


kept = Kept()


@torch.compile(backend="eager")
def f(x):
"""


@pytest.mark.parametrize(
    ("body", "breaks"),
    [
        ("return x * Made(2).scale", False),
        ('object.__setattr__(kept, "last", x); return x * 2', False),
        ("return x * len(object.__repr__(kept))", False),
        ('return x * object.__getattribute__(kept, "scale")', True),
        ("key = object(); return x * 2", True),
    ],
)
def test_methods_of_object(splits: Callable[..., bool], tmp_path: Path, body: str, breaks: bool) -> None:
    import torch

    source = HEAD + f"    {body}\n"
    assert splits(source, "f", torch.ones(2)) is breaks
    file = tmp_path / "model.py"
    file.write_text(source)
    found = analyse([(file, "model.py")]).findings
    assert [(f.rule, f.location.line) for f in found] == [("GD405", source.count("\n"))] * breaks
