"""``graphdoctor run --save-sample`` and ``--verify``: a program's first call, run again by a scan."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]

CONFIGURED = """\
import sys
import torch
from torch import nn
from helper import scaled

LIMIT = float(sys.argv[1])

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x, *, shift):
        x = scaled(self.linear(x)) + shift
        if x.sum() > LIMIT:
            x = x + 1
        return x

net = torch.compile(Net(int(sys.argv[2])), backend="eager")
for step in range(3):
    net(torch.rand(2, 4), shift=step)
raise SystemExit(0)
"""
FUNCTION = """\
import torch
from torch import nn

weight = nn.Linear(4, 4)

def scaled(x):
    return weight(x) * 2

@torch.compile(backend="eager")
def step(x):
    y = scaled(x)
    print("step")
    return y.relu()

step(torch.rand(2, 4))
"""


SETTING = """\
import torch
from torch import nn

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(4, 4)

    def forward(self, x):
        return self.rnn(x)[0].relu()

torch.compile(Tagger(), backend="eager")(torch.rand(3, 2, 4))
"""


def project(folder: Path, text: str) -> None:
    (folder / "train.py").write_text(text)
    (folder / "helper.py").write_text("def scaled(x):\n    return x * 2\n")


def report(done: subprocess.CompletedProcess[str], file: Path) -> dict[str, Any]:
    assert done.returncode == 1, done.stderr
    return dict(json.loads(file.read_text()))


@pytest.mark.parametrize(("text", "arguments"), [(CONFIGURED, ["0.5", "4"]), (FUNCTION, [])])
def test_sample_breaks_where_its_program_does(
    graphdoctor: Command, tmp_path: Path, text: str, arguments: list[str]
) -> None:
    project(tmp_path, text)
    (tmp_path / "samples").mkdir()
    sample, file = "samples/first.py", tmp_path / "report.json"
    options = ["--output-format", "json", "--output", str(file)]
    done = graphdoctor("run", "--save-sample", sample, *options, "train.py", *arguments, cwd=tmp_path)
    ran = report(done, file)
    done = graphdoctor("scan", sample, "--mode", "eval", *options, cwd=tmp_path)
    scanned = report(done, file)
    places = [[(b["path"], b["line"], b["gb_id"]) for b in r["dynamic"][0]["breaks"]] for r in (ran, scanned)]
    assert places[0] and places[0] == places[1]


def test_fixes_are_proved_on_the_first_call(graphdoctor: Command, tmp_path: Path) -> None:
    project(tmp_path, CONFIGURED)
    file = tmp_path / "report.json"
    options = ["--verify", "--output-format", "json", "--output", str(file)]
    found = report(graphdoctor("run", *options, "train.py", "0.5", "4", cwd=tmp_path), file)
    [finding] = [finding for finding in found["findings"] if finding["rule"] == "GD201"]
    assert finding["fix"]["grade"] == "general"
    assert found["verification"]["breaks"] == 0
    assert found["verification"]["numerics"]["equal"] is True
    assert "fixes verified on the saved first call of Net" in found["notes"]


def test_settings_of_torch_at_the_top_of_a_script_are_made(graphdoctor: Command, tmp_path: Path) -> None:
    """Those of the script itself, and those that a fix makes."""
    project(tmp_path, SETTING)
    options = ["--verify", "--exit-zero", "--output-format", "json", "--output", "report.json"]
    assert graphdoctor("run", *options, "train.py", cwd=tmp_path).returncode == 0
    verified = json.loads((tmp_path / "report.json").read_text())
    assert [finding["rule"] for finding in verified["findings"]] == ["GD502"]
    assert verified["verification"]["fullgraph_passes"] is True
    project(tmp_path, SETTING.replace("class", "torch._dynamo.config.allow_rnn = True\n\nclass"))
    assert graphdoctor("run", "--save-sample", "first.py", "train.py", cwd=tmp_path).returncode == 0
    done = graphdoctor("scan", "first.py", "--mode", "eval", cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_call_that_cannot_be_saved_is_told(graphdoctor: Command, tmp_path: Path) -> None:
    project(tmp_path, CONFIGURED.replace("self.linear = ", "self.hook = lambda: None; self.linear = "))
    file = tmp_path / "report.json"
    options = ["--save-sample", "first.py", "--output-format", "json", "--output", str(file)]
    found = report(graphdoctor("run", *options, "train.py", "0.5", "4", cwd=tmp_path), file)
    [note] = [note for note in found["notes"] if note.startswith("the call of Net was not saved")]
    assert "lambda" in note
    assert not (tmp_path / "first.py").exists()
