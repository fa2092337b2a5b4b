"""What is said of a parameter whose module is made in compiled code."""

from __future__ import annotations

from pathlib import Path

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))

    def forward(self, x):
        return x * self.weight


class Net(nn.Module):
    def forward(self, x):
        return Scale()(x)
"""


def test_the_parameter_of_a_module_stays_one(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE)
    (finding,) = analyse([(file, "net.py")]).findings
    assert (finding.rule, finding.location.line) == ("GD504", 8)
    assert finding.fix is not None and finding.fix.safety == "manual"
    assert finding.fix.reason == "It belongs to a module: make the module before the compiled code, and pass it in."
