"""The version of the installed torch, found without importing it."""

from __future__ import annotations

import os
import sys
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner

from graphdoctor.cli import cli
from graphdoctor.fixes.core import write
from graphdoctor.target_torch.installed import torch_available

SAMPLE = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        print("here")
        return x * 2


def graphdoctor_target():
    return Net(), (torch.rand(4),)
"""


def test_it_is_the_version_that_the_metadata_has() -> None:
    assert (torch_available() or "").partition("+")[0] == metadata.version("torch").partition("+")[0]


def stub(folder: Path, monkeypatch: pytest.MonkeyPatch, **files: str) -> None:
    """A package ``torch`` with these modules, found before any other."""
    (folder / "torch").mkdir()
    for name, text in files.items():
        (folder / "torch" / f"{name}.py").write_text(text)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.syspath_prepend(str(folder))


def test_the_package_that_would_be_imported_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub(tmp_path, monkeypatch, __init__="", version="debug = False\n__version__ = '2.99.0.dev1+cpu'\n")
    assert torch_available() == "2.99.0.dev1+cpu"


def test_a_package_without_a_version_has_that_of_its_metadata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub(tmp_path, monkeypatch, __init__="")
    assert torch_available() == metadata.version("torch")


def test_without_torch_there_is_no_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert torch_available() is None


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
