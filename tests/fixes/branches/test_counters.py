"""A counter that becomes a buffer, tried by a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphdoctor.api import ScanOptions, scan
from graphdoctor.fixes.core.apply import fixed_texts, select_fixes
from graphdoctor.lint import engine

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


BRANCH = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.large = 0

    def forward(self, x):
        {}
        return x * 2


def graphdoctor_target():
    return Net(), (torch.randn(2, 4),)
"""
COUNTS = "if x.max() > 1:\n            self.large += 1"


def test_a_branch_that_only_counts_adds_its_condition(tmp_path: Path) -> None:
    import torch

    text = fixed(tmp_path, BRANCH.format(COUNTS))
    assert "        self.large += torch.where(x.max() > 1, 1, 0)\n" in text
    assert 'self.register_buffer("large", torch.tensor(0), persistent=False)' in text
    names: dict[str, Any] = {}
    exec(text, names)
    net = names["Net"]()
    compiled = torch.compile(net, backend="eager", fullgraph=True)
    for scale in (0.0, 2.0, 3.0):
        compiled(torch.full((2, 4), scale))
    assert net.large.item() == 2


@pytest.mark.parametrize(
    "lines",
    [
        "if x.max() > 1:\n            self.large += 0.5",
        "if x.max() > 1:\n            self.large *= 2",
        "if x.max() > 1:\n            self.large += 1\n        else:\n            self.large -= 1",
        "if self.training and x.max() > 1:\n            self.large += 1",
        "if x.max() > 1:\n            self.large += 1\n        print(self.large)",
    ],
)
def test_other_branches_are_not_written_as_a_sum(tmp_path: Path, lines: str) -> None:
    assert "+= torch.where(" not in fixed(tmp_path, BRANCH.format(lines))


def fixed(folder: Path, source: str) -> str:
    """``source`` with all fixes that the static pass offers."""
    file = folder / "net.py"
    file.write_text(source)
    chosen, _ = select_fixes(engine.analyse([(file, "net.py")]).findings, unsafe=True)
    return fixed_texts({"net.py": source}, chosen).get("net.py", source)
