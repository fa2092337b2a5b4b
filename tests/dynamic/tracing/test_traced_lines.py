"""The lines that Dynamo traces, as against those that run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from torch._guards import TracingContext

from graphdoctor.dynamic.tracing.private_torch import traced_lines

TEXT = """\
import torch

def f(x):
    if not torch.compiler.is_compiling():
        x = x + 1
    for _ in range(2):
        x = g(x)
    return x

def g(x):
    return x * 2
"""


def function(path: Path) -> Any:
    path.write_text(TEXT)
    namespace: dict[str, Any] = {}
    exec(compile(TEXT, str(path), "exec"), namespace)
    return namespace["f"]


def test_lines_of_eager_code_alone_and_of_other_files_are_not_among_them(tmp_path: Path) -> None:
    watched, other = str(tmp_path / "a.py"), str(tmp_path / "b.py")
    usual = vars(TracingContext)["set_current_loc"]
    torch._dynamo.reset()
    with traced_lines([watched]) as lines:
        torch.compile(function(tmp_path / "b.py"), backend="eager")(torch.rand(2))
        assert lines == {watched: set()}
        torch.compile(function(tmp_path / "a.py"), backend="eager")(torch.rand(2))
    # Those of the definitions are among them, where tracing a function begins: from Python 3.11 on with an instruction.
    definitions = {3, 10} if sys.version_info >= (3, 11) else set()
    assert lines == {watched: {4, 6, 7, 8, 11} | definitions}
    assert vars(TracingContext)["set_current_loc"] is usual
    with traced_lines([]) as nothing:
        torch.compile(function(Path(other)), backend="eager")(torch.rand(2))
    assert nothing == {}
