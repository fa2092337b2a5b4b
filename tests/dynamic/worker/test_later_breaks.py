"""Breaks of later calls: what the first one leaves behind sends the same inputs another way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from graphdoctor.cli import cli

SOURCE = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.last = None
        self.calls = 0

    def forward(self, x, seen):
        y = self.linear(x)
        {body}
        return y


def close(a, b):
    return bool((a - b).abs().max() < 1e-3)


def graphdoctor_target():
    return Net(), (torch.rand(2, 4), [])
"""
KEEPS = "if self.last is not None and close(self.last, x):\n            return self.last\n        self.last = x"
COUNTS = "self.calls += 1\n        if self.calls > 2:\n            print(y)"
ARGUMENT = "seen.append(1)\n        if len(seen) > 1:\n            print(y)"
ONCE = "if self.last is not None:\n            raise RuntimeError(len(seen))\n        self.last = x"


@pytest.mark.parametrize(
    ("body", "calls", "fails"),
    [(KEEPS, [2], True), (COUNTS, [3], True), (ARGUMENT, [], False), (ONCE, [], False), ("print(y)", [1], True)],
)
def test_breaks_that_the_first_call_does_not_have_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, calls: list[int], fails: bool
) -> None:
    (tmp_path / "net.py").write_text(SOURCE.format(body=body))
    monkeypatch.chdir(tmp_path)
    options = ["--quick", "--mode", "eval", "--output-format", "json", "--output", "report.json"]
    CliRunner().invoke(cli, ["scan", "net.py", *options])
    report = json.loads((tmp_path / "report.json").read_text())
    (run,) = report["dynamic"]
    assert [entry["call"] for entry in run["breaks"]] == calls
    assert run["fullgraph"]["passes"] is not fails
    assert report["summary"]["verdict"] == ("not-ready" if fails else "ready")
    assert [finding["line"] for finding in report["findings"] if finding["events"]] == [
        entry["line"] for entry in run["breaks"]
    ]


TRAINED = "if self.training:\n            {}\n            y = y * self.calls"


@pytest.mark.parametrize(
    ("counted", "modes"),
    [("self.calls += 1", ["train"]), ("self.calls = 1", []), ("pass", [])],
)
def test_a_mode_whose_later_calls_are_compiled_again_and_again_is_looked_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: str, modes: list[str]
) -> None:
    (tmp_path / "net.py").write_text(SOURCE.format(body=TRAINED.format(counted)))
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(cli, ["scan", "net.py", "--output-format", "json", "--output", "report.json"])
    runs = json.loads((tmp_path / "report.json").read_text())["dynamic"]
    assert [run["mode"] for run in runs if "self.calls" in [entry["name"] for entry in run["recompiles"]]] == modes
    assert [run["mode"] for run in runs if run["sweeps"]] == ["eval", *modes]


def test_a_fix_is_tried_in_the_calls_that_break(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "net.py").write_text(SOURCE.format(body=KEEPS))
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["scan", "net.py", "--mode", "eval"])
    assert "1 graph, 1 graph break (1 in later calls only)" in result.output
    # In the first call nothing breaks, so there it would do no harm.
    assert "No fix is offered: 1 fix was tried and dropped. Dropped: GD214" in " ".join(result.output.split())
