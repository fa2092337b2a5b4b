"""Breaks that come of numpy scalars and of gradients: seen by compiling without them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from graphdoctor.cli import cli

SOURCE = """\
import numpy as np
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, n, sizes):
        {body}
        return self.linear(x)


def graphdoctor_target():
    return Net(), (torch.rand(2, 4), {n}, {{"scale": {scale}}})
"""
ASKS = "if n:\n            x = x * 2"
CALLER = "pass `int(n)` in place of the numpy scalar: then nothing breaks here (measured)"


def _scanned(source: str, mode: str) -> Any:
    """The JSON report of ``source``, which is written to the working folder."""
    Path("net.py").write_text(source)
    options = ["--quick", "--mode", mode, "--output-format", "json", "--output", "report.json"]
    CliRunner().invoke(cli, ["scan", "net.py", *options])
    return json.loads(Path("report.json").read_text())


@pytest.mark.parametrize(
    ("body", "n", "scale", "calls"),
    [
        (ASKS, "max(np.array([3, 5]))", "1.5", [["int(n)"]]),
        (ASKS, "torch.tensor(5)", "np.float64(1.5)", [[]]),
        # What a Python number breaks, too, is not of it.
        (f"print(n)\n        {ASKS}", "np.int64(5)", "1.5", [[], ["int(n)"]]),
        (
            'if sizes["scale"] > 1:\n            x = x * 2',
            "np.bool_(True)",
            "np.float64(1.5)",
            [["bool(n)", "float(sizes['scale'])"]],
        ),
        # A Python number raises here, so nothing is known.
        ("if n.sum():\n            x = x * 2", "np.int64(5)", "1.5", [[]]),
        ("x = x * n", "np.int64(5)", "1.5", []),
    ],
)
def test_breaks_that_do_not_come_with_python_numbers_are_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, n: str, scale: str, calls: list[list[str]]
) -> None:
    monkeypatch.chdir(tmp_path)
    report = _scanned(SOURCE.format(body=body, n=n, scale=scale), "eval")
    (run,) = report["dynamic"]
    assert [entry["as_numbers"] for entry in run["breaks"]] == calls
    told = [finding for finding in report["findings"] if "numpy scalar" in (finding["why"] or "")]
    assert len(told) == sum(map(bool, calls))
    if ["int(n)"] in calls:
        (finding,) = told
        assert finding["message"] == "`if` on the numpy scalar `n`: this splits the graph"
        assert (finding["suggestion"], finding["fix"]) == (CALLER, None)


PRINTS = "print(x.shape)"


@pytest.mark.parametrize(
    ("body", "mode", "marked"),
    [
        (f"if torch.is_grad_enabled():\n            {PRINTS}", "eval", [True]),
        (f"if torch.is_grad_enabled():\n            {PRINTS}", "train", [False]),
        (f"if self.linear(x).requires_grad:\n            {PRINTS}\n        print(n)", "eval", [True, False]),
        # It breaks in both, and here nothing is about gradients.
        (f"with torch.no_grad():\n            {PRINTS}", "eval", [False]),
        (PRINTS, "eval", [False]),
    ],
)
def test_breaks_of_eval_mode_that_do_not_come_under_no_grad_are_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, mode: str, marked: list[bool]
) -> None:
    monkeypatch.chdir(tmp_path)
    (run,) = _scanned(SOURCE.format(body=body, n="5", scale="1.5"), mode)["dynamic"]
    assert [entry["with_gradients"] for entry in run["breaks"]] == marked


BACKWARD = """\
import torch
from torch import nn


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, slope):
        x, weight = ctx.saved_variables
        return slope * weight, (slope * x).sum(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x):
        return Scale.apply(x, self.weight)


def graphdoctor_target():
    return Net(), (torch.rand(2, 4),)
"""


def test_breaks_in_a_backward_come_with_gradients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (run,) = _scanned(BACKWARD, "eval")["dynamic"]
    assert [entry["with_gradients"] for entry in run["breaks"]] == [True]
