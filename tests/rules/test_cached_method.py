"""Dynamo traces what `functools.lru_cache` keeps, unless it finds no Python function behind the method."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import functools
from functools import cache, lru_cache

import torch


def kept(function):
    return function


class Nodes(BASE):
    @staticmethod
    def forward(ctx, x):
        return x

    DECORATORS
    def count(ARGUMENTS):
        return n + 1


def f(x: torch.Tensor):
    return x * Nodes.count(3)


compiled = torch.compile(f)
"""


@pytest.mark.parametrize(
    ("base", "decorators", "arguments", "breaks"),
    [
        ("torch.autograd.Function", ("@staticmethod", "@cache"), "n", True),
        ("torch.autograd.Function", ("@staticmethod", "@lru_cache(maxsize=4)"), "n", True),
        ("torch.autograd.Function", ("@functools.lru_cache",), "n", True),
        ("torch.autograd.Function", ("@staticmethod",), "n", False),
        ("torch.autograd.Function", ("@staticmethod", "@kept"), "n", False),
        ("object", ("@classmethod", "@cache"), "cls, n", True),
        ("torch.nn.Module", ("@classmethod", "@functools.lru_cache(maxsize=None)"), "cls, n", True),
        ("object", ("@classmethod",), "cls, n", False),
        ("object", ("@staticmethod", "@cache"), "n", False),
        ("torch.nn.Module", ("@staticmethod", "@lru_cache"), "n", False),
    ],
)
def test_a_cached_method(
    tmp_path: Path,
    base: str,
    decorators: tuple[str, ...],
    arguments: str,
    breaks: bool,
) -> None:
    import torch

    source = SOURCE.replace("BASE", base).replace("DECORATORS", "\n    ".join(decorators))
    source = source.replace("ARGUMENTS", arguments)
    file = tmp_path / "nodes.py"
    file.write_text(source)
    line = source[: source.index("return x * Nodes")].count("\n") + 1
    found = [(finding.rule, finding.location.line) for finding in analyse([(file, file.name)]).findings]
    assert found == [("GD405", line)] * breaks
    names: dict[str, object] = {"__name__": "nodes"}
    exec(source, names)
    torch._dynamo.reset()
    # At a classmethod Dynamo gives the function up, which is not counted as a split.
    whole = torch.compile(names["f"], backend="eager", fullgraph=True)  # type: ignore[call-overload]
    with pytest.raises(torch._dynamo.exc.Unsupported) if breaks else nullcontext():
        whole(torch.rand(3))
