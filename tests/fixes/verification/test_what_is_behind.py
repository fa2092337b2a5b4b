"""A fix may let the run come to a line that breaks next: it is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.api import ScanOptions, scan

SOURCE = """\
import torch


def sample(x, sigmas):
    try:
        print("sample")
        return x * 2 if {test} else x
    except ValueError:
        return x


def graphdoctor_target():
    return sample, (torch.rand(4), torch.rand(3))
"""


@pytest.mark.parametrize(("test", "named"), [("sigmas[0] == 0", True), ("sigmas.ndim", False)])
def test_the_line_that_breaks_behind_a_fix_is_named(tmp_path: Path, test: str, named: bool) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(test=test))
    verification = scan(ScanOptions((str(file),), isolated=True, mode="eval", select=("GD101",))).verification
    assert verification is not None
    assert verification.breaks == named
    assert (f"breaks next at `return x * 2 if {test} else x`" in verification.detail) is named
