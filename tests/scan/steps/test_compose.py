"""Fixes that overlap are verified as one change, where those that go together leave graph breaks."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from graphdoctor.api import ScanOptions, scan

PROGRAM = """\
import torch


def f(x):
    keep = x > 0.5
    if keep.any():
        return x[keep].mean()
    return x.mean()


def graphdoctor_target():
    torch.manual_seed(0)
    return f, (torch.rand(4, 8),)
"""


def test_a_change_of_two_fixes_is_verified(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    found = scan(ScanOptions((str(file),)))
    result = found.verification
    assert result is not None and (result.breaks, result.graphs, result.fullgraph_passes) == (0, 1, True)
    first, second = (finding.fix for finding in found.findings)
    assert first is not None and second is not None and first.edits == second.edits
    assert len(result.fixes) == 2 and result.numerics is not None and result.numerics.equal
