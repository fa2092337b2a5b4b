"""``graphdoctor run --fix`` and ``--diff``: one run of a program, and its fixes proved on its calls and written."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]

#: One fix is proved from the source, one by the run, and one break has none.
PROGRAM = """\
import sys
import torch
from torch import nn
from helper import logged

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        x = logged(self.linear(x))
        if x.abs().max() > LIMIT:
            x = torch.stack([x, x * 2]).mean(0)
        return x.relu()

LIMIT = float(sys.argv[1])
torch.manual_seed(0)
net = torch.compile(Net(), backend="eager")
print("mean", net(torch.rand(2, 4)).mean().item() >= 0)
"""
HELPER = """\
import torch

def logged(x):
    print("logged")
    torch._dynamo.graph_break()
    return x
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text(HELPER)
    return tmp_path


def test_one_run_writes_the_fixes_that_stood(graphdoctor: Command, project: Path) -> None:
    done = graphdoctor("run", "--fix", "--report", "json=r.json", "train.py", "0.1", cwd=project)
    assert done.stdout == "logged\nmean True\n" and done.returncode == 1
    assert "if not torch.compiler.is_compiling():\n        print" in (project / "helper.py").read_text()
    assert "if x.abs().max() > LIMIT" not in (project / "train.py").read_text(), done.stderr
    report = json.loads((project / "r.json").read_text())
    fixes = {finding["rule"]: finding["fix"] for finding in report["findings"]}
    assert {rule: fix and fix["written"] for rule, fix in fixes.items()} == {
        "GD101": True,
        "GD201": True,
        "GD508": False,
    }
    assert [note for note in report["notes"] if note.startswith("fix")] == [
        "fixes verified on the saved first call of Net",
        "fixed: helper.py (1 fix written)",
        "fixed: train.py (1 fix written)",
    ]
    assert "= safe fix, written: " in done.stderr
    assert "2 fixes written, 1 finding left; run again to see what comes next.\n" in done.stderr


def test_a_diff_writes_nothing_and_stands_where_the_report_would(graphdoctor: Command, project: Path) -> None:
    done = graphdoctor("run", "--diff", "--output", "fixes.patch", "train.py", "0.1", cwd=project)
    assert done.returncode == 1 and "Found" not in done.stderr
    assert (project / "train.py").read_text() == PROGRAM and (project / "helper.py").read_text() == HELPER
    subprocess.run(["git", "apply", "fixes.patch"], cwd=project, check=True)
    fixed = graphdoctor("run", "--diff", "train.py", "0.1", cwd=project)
    assert fixed.returncode == 0, fixed.stderr
    assert fixed.stderr == "graphdoctor: nothing to show: no finding has an automatic fix\n"


def test_each_fix_is_asked_for_at_a_terminal(project: Path) -> None:
    terminal, inner = pty.openpty()
    command = [sys.executable, "-m", "graphdoctor", "run", "--fix", "-i", "--output", "r.txt", "train.py", "0.1"]
    with subprocess.Popen(command, cwd=project, stdin=inner, stdout=inner, stderr=inner):
        os.close(inner)
        os.write(terminal, b"y\nn\n")
        said = b""
        while b"graphdoctor: wrote" not in said:
            said += os.read(terminal, 1 << 16)
    os.close(terminal)
    assert said.count(b"write this fix?") == 2
    assert (project / "helper.py").read_text() != HELPER and (project / "train.py").read_text() == PROGRAM
    assert "1 fix written, 2 findings left" in (project / "r.txt").read_text()


def test_nothing_is_written_outside_of_the_project(graphdoctor: Command, project: Path) -> None:
    """The project is that of the script and that of the working folder, which imports what is elsewhere."""
    elsewhere, here = project / "elsewhere", project / "here"
    for folder in (elsewhere, here):
        folder.mkdir()
        (folder / "__init__.py").touch()
    (project / "helper.py").rename(elsewhere / "helper.py")
    (project / "train.py").rename(here / "train.py")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(elsewhere), os.environ.get("PYTHONPATH", "")])}
    done = graphdoctor("run", "--fix", "train.py", "0.1", cwd=here, env=env)
    said = " ".join(done.stderr.split())
    assert (
        "elsewhere/helper.py is outside of the project of the script and of the folder that it was started in" in said
    )
    # What was just tried is not offered again.
    assert "graphdoctor run --fix train.py" not in said
    assert (elsewhere / "helper.py").read_text() == HELPER
    assert "note: fixed: here/train.py (1 fix written)\n" in done.stderr


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--fix", "--diff"), "--fix writes the fixes and --diff only shows them: use one of the two"),
        (("--unsafe-fixes",), "--unsafe-fixes adds to what --fix writes and --diff shows, and neither is there"),
        (("--diff", "--no-source"), "--diff shows source lines and --no-source forbids them: use one of the two"),
        (("--diff", "-i"), "-i asks what to write and --diff writes nothing: use one of the two"),
        (("--fix", "-i"), "-i asks at a terminal, and the standard input is none: leave -i out, or see the fixes with"),
    ],
)
def test_options_that_do_not_fit_end_it_before_the_program_runs(
    graphdoctor: Command, project: Path, options: tuple[str, ...], text: str
) -> None:
    done = graphdoctor("run", *options, "train.py", "0.1", cwd=project)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(f"graphdoctor: {text}") and done.stderr.count("\n") == 1


#: What the constructor sets, other code of the program reads.
COUNTS = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.seen = 0

    def forward(self, x):
        self.seen += x.shape[0]
        x = self.linear(x)
        print("forward")
        return x.relu()

model = Net()
net = torch.compile(model, backend="eager")
for _ in range(3):
    net(torch.rand(2, 4))
print("seen", model.seen)
"""


def test_a_constructor_that_the_saved_call_does_not_run_is_not_verified(graphdoctor: Command, tmp_path: Path) -> None:
    """The counter as a buffer: in the saved call it is the number that it was, so nothing of the fix was tried."""
    (tmp_path / "train.py").write_text(COUNTS)
    done = graphdoctor("run", "--fix", "--save-sample", "first.py", "train.py", cwd=tmp_path)
    words = " ".join(done.stderr.split())
    assert "the saved call has its objects as they were, so it does not run the constructor" in words, done.stderr
    assert "fixed: train.py (1 fix written)" in words
    fixed = (tmp_path / "train.py").read_text()
    assert "self.seen = 0" in fixed and "is_compiling()" in fixed
    done = graphdoctor("fix", "first.py", cwd=tmp_path)
    assert "self.seen = 0" in (tmp_path / "train.py").read_text(), done.stdout
