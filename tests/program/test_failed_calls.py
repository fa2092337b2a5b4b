"""Calls that torch.compile ends: the backend fails on a graph, or a setting forbids to compile again."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]

NET = """\
import torch
from torch import nn

def refusing(graph, inputs):
    raise ValueError("this backend takes no graph")

class Net(nn.Module):
    def forward(self, x):
        y = x.sin()
        return y + 1

"""
#: A lowering of Inductor's own raises, as a kernel does that cannot be compiled.
FAILING_LOWERING = """\
from torch._inductor import lowering

def no_sine(*args, **kwargs):
    raise NotImplementedError("no sine here")

lowering.lowerings[torch.ops.aten.sin.default] = no_sine
torch.compile(Net())(torch.rand(3))
"""


def report_of(
    graphdoctor: Command, folder: Path, text: str, *options: str
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """The ended command on a program ``text``, and its JSON report."""
    (folder / "train.py").write_text(text)
    done = graphdoctor("run", "--report", "json=r.json", *options, "train.py", cwd=folder)
    return done, json.loads((folder / "r.json").read_text())


@pytest.mark.parametrize(
    ("last", "failure", "detail"),
    [
        (
            "torch.compile(Net(), backend=refusing)(torch.rand(3))\n",
            "backend refusing fails",
            "ValueError: this backend takes no graph, on the graph at train.py:10",
        ),
        (FAILING_LOWERING, "backend inductor fails in Inductor", "NotImplementedError: no sine here"),
    ],
)
def test_a_backend_that_fails_is_no_graph_break(
    graphdoctor: Command, tmp_path: Path, last: str, failure: str, detail: str
) -> None:
    done, report = report_of(graphdoctor, tmp_path, NET + last)
    assert done.returncode == 1
    assert report["findings"] == [] and report["dynamic"][0]["breaks"] == []
    assert report["summary"]["headline"] == f"Not ready: 0 graph breaks in your code, {failure}"
    assert f"{failure}: " in done.stderr and detail in " ".join(done.stderr.split())
    (note,) = (note for note in report["notes"] if note.startswith("which layer fails: "))
    assert "`graphdoctor run --save-sample sample.py PROGRAM` keeps the call" in note


def test_the_saved_call_of_a_failing_backend_is_named(graphdoctor: Command, tmp_path: Path) -> None:
    text = NET + "torch.compile(Net(), backend=refusing)(torch.rand(3))\n"
    _, report = report_of(graphdoctor, tmp_path, text, "--save-sample", "call.py")
    (note,) = (note for note in report["notes"] if note.startswith("which layer fails: "))
    assert note.startswith("which layer fails: `graphdoctor scan call.py --ladder --repro repro.py`")


@pytest.mark.parametrize(
    "last",
    [
        "torch._dynamo.config.error_on_recompile = True\nnet(torch.rand(4))\n",
        "with torch.compiler.set_stance('fail_on_recompile'):\n    net(torch.rand(4))\n",
    ],
)
def test_a_recompile_that_a_setting_forbids_is_told_with_its_cause(
    graphdoctor: Command, tmp_path: Path, last: str
) -> None:
    first = "net = torch.compile(Net(), backend='eager', dynamic=False)\nnet(torch.rand(3))\n"
    done, report = report_of(graphdoctor, tmp_path, NET + first + last)
    assert done.returncode == 1
    (note,) = (note for note in report["notes"] if "would have been compiled again" in note)
    assert note.endswith("compiled again: the size of x changed in dimension 0: expected 3, actual 4")
