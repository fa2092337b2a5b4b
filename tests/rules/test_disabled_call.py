"""Scripted functions: Dynamo calls one in the graph, unless it is a method of an ``autograd.Function``."""

from __future__ import annotations

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
    splits: Callable[..., bool], tmp_path: Path, base: str, decorator: str, lines: list[int]
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
    file = tmp_path / "net.py"
    file.write_text(source)
    assert [finding.location.line for finding in analyse([(file, "net.py")]).findings] == lines
    # TorchScript reads the source from a file.
    namespace = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); sys.modules.pop('net', None)\nfrom net import f"
    assert splits(namespace, "f", torch.rand(3)) is bool(lines)
