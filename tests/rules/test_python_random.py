"""What is advised where a draw is used as a number, and where it decides a branch."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.api import ScanOptions, scan

NET = """\
import numpy as np
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        {line}
        return x * 2
"""


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("x = x * np.random.uniform(0, 1)", "draw with torch (`torch.rand`"),
        ("x = x + 1 if np.random.uniform(0, 1) < 0.5 else x", "draw with torch, and select with `torch.where`"),
    ],
)
def test_a_draw_that_decides_is_not_advised_to_stay_a_branch(tmp_path: Path, line: str, advice: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(NET.format(line=line))
    (finding,) = scan(ScanOptions((str(file),), run=False)).findings
    assert finding.rule == "GD403"
    assert finding.suggestion.startswith(advice)
