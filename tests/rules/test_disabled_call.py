"""Scripted functions: Dynamo calls one in the graph, unless it is a method of an ``autograd.Function``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse


@pytest.mark.parametrize(
    ("base", "decorator", "lines"),
    [
        ("torch.autograd.Function", "script", [13]),
        ("torch.autograd.Function", "torch.no_grad()", []),
        ("object", "script", []),
    ],
)
def test_a_scripted_method_of_an_autograd_function(
    splits: Callable[..., bool],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    base: str,
    decorator: str,
    lines: list[int],
) -> None:
    import torch

    source = f"""\
import torch
from torch.jit import script


class Doubled({base}):
    @staticmethod
    @{decorator}
    def run(x):
        return x * 2


def f(x: torch.Tensor):
    return Doubled.run(x) + 1


compiled = torch.compile(f)
"""
    file = tmp_path / "doubled_by_script.py"
    file.write_text(source)
    assert [finding.location.line for finding in analyse([(file, file.name)]).findings] == lines
    # TorchScript reads the source from a file.
    monkeypatch.syspath_prepend(tmp_path)
    assert splits(f"from {file.stem} import f", "f", torch.rand(3)) is bool(lines)
    del sys.modules[file.stem]
