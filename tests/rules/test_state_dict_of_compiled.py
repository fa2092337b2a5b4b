"""Checkpoints of compiled wrappers: which loads make them right, and how to save instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse
from graphdoctor.model.findings import Finding

SOURCE = """\
import copy
import torch

net = torch.compile(torch.nn.Linear(4, 4))
kept = copy.deepcopy(net.state_dict())
net(torch.rand(2, 4))
net.load_state_dict({state})
raw_net = net
torch.save(raw_net.state_dict(), "net.pt")
"""


def findings(tmp_path: Path, state: str) -> list[Finding]:
    file = tmp_path / "run.py"
    file.write_text(SOURCE.format(state=state))
    return list(analyse([(file, "run.py")]).findings)


@pytest.mark.parametrize(
    ("state", "found"), [("kept", ["GD618"]), ("net.state_dict()", ["GD618"]), ("torch.load('net.pt')", [])]
)
def test_a_state_that_was_only_kept_says_nothing_of_files(tmp_path: Path, state: str, found: list[str]) -> None:
    assert [f.rule for f in findings(tmp_path, state)] == found


def test_the_advice_names_the_object_whose_state_is_saved(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, "kept")
    assert "save `raw_net._orig_mod.state_dict()`" in finding.suggestion
