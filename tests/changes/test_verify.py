"""``graphdoctor verify``: what is the same program passes, and what is not is refused with what differs."""

from __future__ import annotations

import difflib
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]

MODEL = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        x = self.drop(self.linear(x))
        print("forward")
        return x * 2


def graphdoctor_target():
    return Net(), (torch.rand(3, 4),), {}
"""
PRINT = '        print("forward")\n'
#: A right change goes with each wrong one, so that breaks alone would praise it.
GUARDED = MODEL.replace(
    PRINT, "        if not torch.compiler.is_compiling():\n            print('forward')\n".replace("'", '"')
)
DROP = "        x = self.drop(self.linear(x))\n"
RETURN = "        return x * 2\n"
WRONG = {
    "sign flipped": (GUARDED.replace("x * 2", "x * -2"), "values differ"),
    "in-place on an input": (GUARDED.replace(DROP, f"        given = x.data\n{DROP}        given.add_(1)\n"), "input"),
    "random numbers shifted": (GUARDED.replace(RETURN, f"        torch.rand(1)\n{RETURN}"), "random"),
    "gradient detached": (GUARDED.replace("return x * 2", "return x.detach() * 2"), "gradient"),
    "an exception": (GUARDED.replace(RETURN, f"        [][0]\n{RETURN}"), "IndexError"),
    "output lost": (MODEL.replace(PRINT, ""), "standard output"),
    "a break more": (
        GUARDED.replace(RETURN, f"        torch._dynamo.graph_break()\n        torch._dynamo.graph_break()\n{RETURN}"),
        "more than before",
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path


def change(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.stdout, done.stderr
    return dict(json.loads(done.stdout)["change"])


def patch(after: str, path: str = "model.py", before: str = MODEL) -> str:
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{path}", f"b/{path}")
    return "".join(lines)


def test_the_fixed_demo_passes(graphdoctor: Command, root: Path, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_bytes((root / "fixtures/demo/model.py").read_bytes())
    (tmp_path / "fixed.py").write_bytes((root / "fixtures/demo/model.py").read_bytes())
    graphdoctor("fix", "fixed.py", "--no-run", "--unsafe-fixes", cwd=tmp_path)
    assert (tmp_path / "fixed.py").read_text() != (tmp_path / "model.py").read_text()
    done = graphdoctor("verify", "model.py", "fixed.py", "--mode", "eval", "--html", "report.html", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Verified: the same program; 0 graph breaks, 7 before\n")
    assert "The change is verified for inputs of int64" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("name", WRONG)
def test_wrong_changes_are_refused(graphdoctor: Command, folder: Path, name: str) -> None:
    after, words = WRONG[name]
    assert after != MODEL
    (folder / "change.patch").write_text(patch(after))
    done = graphdoctor("verify", "model.py", "--patch", "change.patch", "--output-format", "json", cwd=folder)
    found = change(done)
    assert (done.returncode, found["verdict"]) == (1, "refused"), found
    assert words in found["reason"], found
    assert (folder / "model.py").read_text() == MODEL


def test_a_right_patch_and_what_it_says(graphdoctor: Command, folder: Path) -> None:
    (folder / "change.patch").write_text(patch(GUARDED))
    done = graphdoctor("verify", "model.py", "--patch", "change.patch", "--output-format", "json", cwd=folder)
    assert done.returncode == 0, done.stdout
    assert change(done) == {
        "verdict": "verified",
        "reason": None,
        "breaks_before": 1,
        "breaks_after": 0,
        "files": ["model.py"],
    }
    found = json.loads(done.stdout)
    assert found["verification"]["grade"] == "general"
    assert found["verification"]["fullgraph_passes"] is True
    assert [f["rule"] for f in found["comparison"]["fixed"]] == ["GD101"]


def test_what_did_not_run_is_not_verified(graphdoctor: Command, folder: Path) -> None:
    before = MODEL.replace(
        "        return x * 2",
        "        if self.training and x.shape[0] > 1000:\n            return x\n        return x * 2",
    )
    (folder / "model.py").write_text(before)
    (folder / "after.py").write_text(
        before.replace("            return x\n", "            return -x\n").replace("> 1000", "> 1001")
    )
    done = graphdoctor("verify", "model.py", "after.py", "--output-format", "json", cwd=folder)
    assert (done.returncode, change(done)["verdict"]) == (1, "not-verified")
    assert "was always false" in change(done)["reason"]


def test_a_change_of_the_work_tree_in_two_files(graphdoctor: Command, tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        names = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *names, *arguments], cwd=tmp_path, check=True, capture_output=True, env=os.environ)

    model = MODEL.replace("import torch\n", "import torch\nimport helper\n", 1).replace(
        PRINT, "        x = helper.shown(x)\n"
    )
    (tmp_path / "model.py").write_text(model)
    (tmp_path / "helper.py").write_text("def shown(x):\n    print('shown')\n    return x\n")
    (tmp_path / "other.py").write_text("x = 1\n")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "one")
    (tmp_path / "helper.py").write_text(
        "import torch\n\n\ndef shown(x):\n    if not torch.compiler.is_compiling():\n        print('shown')\n    return x\n"
    )
    (tmp_path / "other.py").write_text("x = 2\n")
    done = graphdoctor("verify", "model.py", "--against", "HEAD", "--output-format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert change(done)["breaks_before"] == 1
    assert change(done)["files"] == ["helper.py", "other.py"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("verify", "missing.py", "model.py"), "missing.py is not a file"),
        (("verify", "model.py"), "give the change in one way"),
        (("verify", "model.py", "model.py", "--against", "HEAD"), "give the change in one way"),
        (("verify", "model.py", "model.py"), "nothing changes"),
        (("verify", "model.py", "--patch", "model.py"), "names no file"),
        (("verify", "model.py", "--patch", "other.patch"), "does not fit the file"),
        (("verify", "model.py", "--against", "nowhere"), "--against"),
        (("verify", "plain.py", "model.py"), "declares no sample input"),
    ],
)
def test_wrong_usage_is_one_line(graphdoctor: Command, folder: Path, arguments: tuple[str, ...], words: str) -> None:
    (folder / "plain.py").write_text("import torch\n")
    (folder / "other.patch").write_text(patch(GUARDED).replace("print", "sprint"))
    done = graphdoctor(*arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_sample_on_the_command_line(graphdoctor: Command, folder: Path) -> None:
    sample = MODEL.index("def graphdoctor_target")
    (folder / "before.py").write_text(MODEL[:sample])
    (folder / "after.py").write_text(GUARDED[: GUARDED.index("def graphdoctor_target")])
    command = (
        "verify",
        "before.py",
        "after.py",
        "--target",
        "Net",
        "--input",
        "float32[3,4]",
        "--output-format",
        "json",
    )
    where = ("--device", "cpu", "--mode", "eval", "--timeout", "300", "--output", "proof.json")
    done = graphdoctor(*command, *where, cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads((folder / "proof.json").read_text())
    assert found["change"]["verdict"] == "verified"
    assert [run["mode"] for run in found["dynamic"]] == ["eval"]
