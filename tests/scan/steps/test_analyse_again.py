"""Files that nothing in the source leads to, and that a run shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.api import scan
from graphdoctor.model.runs import Break, DynamicRun, Frame
from graphdoctor.scan.options import ScanOptions

TARGET = """\
import importlib


def graphdoctor_target():
    return importlib.import_module("layers").padded, ()
"""
LAYERS = """\
import torch
from scipy.fftpack import next_fast_len


def padded(x: torch.Tensor):
    return x * next_fast_len(x.shape[0])
"""


def test_a_break_in_a_library_is_explained_at_the_call_in_a_file_that_was_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "target.py").write_text(TARGET)
    (tmp_path / "layers.py").write_text(LAYERS)
    stack = (Frame("layers.py", 6, "padded"), Frame("/site-packages/scipy/fftpack/helper.py", 102, "next_fast_len"))
    brk = Break("layers.py", 6, 16, "padded", "GB0007", "", "`good_size` is in C", owner="third-party", stack=stack)
    run = DynamicRun("padded", "eval", "cpu", "ok", breaks=(brk,), graphs=2)
    diagnosis = scan(ScanOptions(("target.py",)), ran=lambda _root, _files: ((run,), {}))
    (finding,) = diagnosis.findings
    assert (finding.rule, finding.status, finding.location.path) == ("GD405", "confirmed", "layers.py")
    assert diagnosis.summary.breaks_own == 1
