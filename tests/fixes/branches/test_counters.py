"""A counter that becomes a buffer, tried by a run."""

from __future__ import annotations

from pathlib import Path

from graphdoctor.api import ScanOptions, scan

PROGRAM = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.step = 0

    def forward(self, x):
        self.step += 1
        return self.linear(x) / self.step


def graphdoctor_target():
    return Net(), (torch.randn(2, 4),)
"""


def test_a_counter_that_becomes_a_buffer_is_kept(tmp_path: Path) -> None:
    """That the number is in a buffer now, which no state_dict has, is announced, so no run refutes the fix."""
    file = tmp_path / "net.py"
    file.write_text(PROGRAM)
    found = next(f for f in scan(ScanOptions((str(file),), isolated=True)).findings if f.rule == "GD701")
    assert found.fix is not None and (found.fix.grade, found.fix.detail) == ("general", ""), found.fix
    assert "persistent=False" in found.fix.edits[0].text
