"""Where no model can be run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from graphdoctor.cli import cli
from graphdoctor.fixes.core import write

SAMPLE = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        print("here")
        return x * 2


def graphdoctor_target():
    return Net(), (torch.rand(4),)
"""


def test_a_system_that_cannot_fork_runs_no_model_and_still_reads_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows: one line says why, and what the source shows is there."""
    file = tmp_path / "net.py"
    file.write_text(SAMPLE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delattr(os, "fork")
    scanned = CliRunner().invoke(cli, ["scan", "net.py"])
    assert scanned.exit_code == 1
    assert "net.py:6:9: error GD101" in scanned.output
    assert "not run: a model is run on Linux and macOS only; on Windows, use WSL" in scanned.output
    for command in (["bench", "net.py"], ["fleet", "."], ["scan", "net.py", "--run"]):
        refused = CliRunner().invoke(cli, command)
        assert (refused.exit_code, "on Linux and macOS only" in refused.output) == (2, True)
    monkeypatch.setattr(write, "CAN_WRITE", False)
    fixed = CliRunner().invoke(cli, ["fix", "net.py"])
    assert "net.py is written on Linux and macOS only; --diff gives the fixes as a patch" in fixed.output
    assert file.read_text() == SAMPLE
