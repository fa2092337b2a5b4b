"""Notebooks through the command line: places are cell and line, fixes change nothing but the source of their cell."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from graphdoctor.api import scan
from graphdoctor.model.findings import Finding
from graphdoctor.scan.options import ScanOptions

Command = Callable[..., subprocess.CompletedProcess[str]]

SETUP = "%matplotlib inline\nimport torch\nfrom torch import nn"
NET = """\
class Net(nn.Module):
    def forward(self, x):
        print("cell")
        if x.sum() > 0:
            x = x * 2
        else:
            x = x - 1
        return x
"""
SAMPLE = "def graphdoctor_target():\n    return Net(), (torch.rand(3),), {}"
OUTPUT = {"output_type": "stream", "name": "stdout", "text": ["1.50 é\n"]}


def dump(*sources: str) -> str:
    cells: list[dict[str, Any]] = [{"cell_type": "markdown", "metadata": {}, "source": ["# Net"]}]
    for number, source in enumerate(sources, 1):
        cells.append(
            {
                "cell_type": "code",
                "execution_count": number,
                "metadata": {"tags": ["a"]},
                "outputs": [OUTPUT],
                "source": source.splitlines(keepends=True),
            }
        )
    metadata = {"language_info": {"name": "python"}, "number": 1.0}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    file = tmp_path / "demo.ipynb"
    file.write_text(dump(SETUP, NET, SAMPLE), encoding="utf-8")
    return file


def report(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.stdout, done.stderr
    return dict(json.loads(done.stdout))


def places(found: dict[str, Any]) -> set[tuple[str, str, int, str]]:
    return {(f["rule"], f["path"], f["line"], f["status"]) for f in found["findings"]}


def test_static_findings_are_placed_by_cell(graphdoctor: Command, notebook: Path) -> None:
    done = graphdoctor("scan", "--no-run", "--output-format", "json", "demo.ipynb", cwd=notebook.parent)
    assert done.returncode == 1
    assert places(report(done)) == {
        ("GD101", "demo.ipynb:cell 3", 3, "static-only"),
        ("GD201", "demo.ipynb:cell 3", 4, "static-only"),
    }
    # The second time it is recalled.
    again = graphdoctor("scan", "--no-run", "--output-format", "json", "demo.ipynb", cwd=notebook.parent)
    assert report(again)["findings"] == report(done)["findings"]
    text = graphdoctor("scan", "--no-run", "demo.ipynb", cwd=notebook.parent).stdout
    assert "demo.ipynb:cell 3:3:9: error GD101" in text


def test_places_are_those_of_cells_before_the_report_and_in_questions_too(notebook: Path) -> None:
    told: list[tuple[str, int]] = []

    def tell(places: Iterable[Any]) -> None:
        told.extend((place.path, place.line) for place in places)

    def choose(findings: Sequence[Finding]) -> tuple[Finding, ...]:
        tell(finding.location for finding in findings)
        return (findings[0],)

    options = ScanOptions(paths=(str(notebook),), fix=True, unsafe_fixes=True, mode="eval", isolated=True, verify=False)
    scan(
        options,
        choose=choose,
        early=lambda found: tell(finding.location for finding in found),
        decided=lambda summary, runs, seconds: tell(brk for run in runs for brk in run.breaks),
    )
    assert {path.rpartition("demo")[2] for path, _ in told} == {".ipynb:cell 3"}
    assert {line for _, line in told} == {3, 4}
    assert "is_compiling" in notebook.read_text(encoding="utf-8")


def test_a_sample_in_a_cell_is_run_and_fixes_are_written_into_the_cell(graphdoctor: Command, notebook: Path) -> None:
    before = notebook.read_text(encoding="utf-8")
    done = graphdoctor("scan", "--fix", "--unsafe-fixes", "--output-format", "json", "demo.ipynb", cwd=notebook.parent)
    found = report(done)
    assert {place[3] for place in places(found)} == {"confirmed"}
    assert {(b["path"], b["line"]) for run in found["dynamic"] for b in run["breaks"]} == {
        ("demo.ipynb:cell 3", 3),
        ("demo.ipynb:cell 3", 4),
    }
    assert found["verification"]["fullgraph_passes"] is True
    assert {f["rule"]: f["fix"]["label"] for f in found["findings"]} == {"GD101": "safe", "GD201": "verified"}
    after = notebook.read_text(encoding="utf-8")
    expected = (
        NET.replace(
            '        print("cell")\n', '        if not torch.compiler.is_compiling():\n            print("cell")\n'
        )
        .replace("        if x.sum() > 0:\n            x = x * 2\n        else:\n            x = x - 1\n", "X")
        .replace("X", "        x = torch.where(x.sum() > 0, x * 2, x - 1)\n")
    )
    assert after == dump(SETUP, expected, SAMPLE)
    assert after != before
    assert graphdoctor("scan", "demo.ipynb", cwd=notebook.parent).returncode == 0


def test_a_folder_and_the_diff(graphdoctor: Command, notebook: Path) -> None:
    (notebook.parent / ".ipynb_checkpoints").mkdir()
    (notebook.parent / ".ipynb_checkpoints" / "demo-checkpoint.ipynb").write_text(notebook.read_text())
    found = report(graphdoctor("scan", "--output-format", "json", ".", cwd=notebook.parent))
    assert [file["path"] for file in found["files"]] == ["demo.ipynb"]
    changes = graphdoctor("scan", "--no-run", "--diff", "demo.ipynb", cwd=notebook.parent).stdout
    assert changes.startswith("--- a/demo.ipynb:cell 3\n+++ b/demo.ipynb:cell 3\n@@ -1,6 +1,7 @@\n class Net")


@pytest.mark.parametrize("name", ["sarif", "github", "github-review", "gitlab", "junit"])
def test_formats_that_know_files_only(graphdoctor: Command, notebook: Path, name: str) -> None:
    shown = graphdoctor("scan", "--no-run", "--output-format", name, "demo.ipynb", cwd=notebook.parent).stdout
    line = notebook.read_text(encoding="utf-8").split("\n").index('    "        print(\\"cell\\")\\n",') + 1
    assert str(line) in shown
    assert "cell 3, line 3" in shown
    assert "demo.ipynb:cell" not in shown


def test_the_standard_input(graphdoctor: Command, notebook: Path) -> None:
    import sys

    command = [sys.executable, "-m", "graphdoctor", "scan", "--fix", "--stdin-filename", "demo.ipynb", "-"]
    raw = notebook.read_bytes()
    done = subprocess.run(command, input=raw, capture_output=True, cwd=Path(__file__).parents[1], env=os.environ)
    guarded = NET.replace(
        '        print("cell")\n', '        if not torch.compiler.is_compiling():\n            print("cell")\n'
    )
    assert json.loads(done.stdout) == json.loads(dump(SETUP, guarded, SAMPLE))


def test_comments_silence_findings_in_cells(graphdoctor: Command, tmp_path: Path) -> None:
    quiet = NET.replace('print("cell")', 'print("cell")  # noqa: GD101').replace("0:", "0:  # noqa: GD201")
    (tmp_path / "demo.ipynb").write_text(dump(SETUP, quiet), encoding="utf-8")
    assert graphdoctor("scan", "--no-run", "demo.ipynb", cwd=tmp_path).returncode == 0


def test_a_comparison_with_a_commit(graphdoctor: Command, notebook: Path) -> None:
    def git(*arguments: str) -> None:
        names = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *names, *arguments], cwd=notebook.parent, check=True, capture_output=True)

    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "one")
    # A cell is put above, one break goes, one comes.
    changed = NET.replace('        print("cell")\n', "        torch._dynamo.graph_break()\n")
    notebook.write_text(dump("x = 1\ny = 2", SETUP, changed, SAMPLE), encoding="utf-8")
    done = graphdoctor("scan", "--no-run", "--diff-base", "HEAD", "--output-format", "json", ".", cwd=notebook.parent)
    comparison = report(done)["comparison"]
    assert [(f["rule"], f["path"], f["line"]) for f in comparison["fixed"]] == [("GD101", "demo.ipynb:cell 3", 3)]
    assert len(comparison["new"]) == 1
    assert len(comparison["unchanged"]) == 1


def test_a_model_of_a_cell_is_named_behind_a_colon(graphdoctor: Command, tmp_path: Path) -> None:
    (tmp_path / "net.ipynb").write_text(dump(SETUP, NET, "display(Net())\ntorch.compile(Net())"), encoding="utf-8")
    alone = graphdoctor("scan", "net.ipynb", cwd=tmp_path)
    assert "graphdoctor scan net.ipynb:Net --input" in alone.stdout and "graphdoctor run" not in alone.stdout
    assert "Found 2 errors and 1 warning in 1 file." in alone.stdout
    options = ["--input", "float32[3]", "--quick", "--output-format", "json"]
    found = report(graphdoctor("scan", "net.ipynb:Net", *options, cwd=tmp_path))
    assert [run["outcome"] for run in found["dynamic"]] == ["ok"]


BRANCH = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        y = self.linear(x)
        if y.sum() > 0:
            y = y * 2
        return y
"""


def test_the_outcomes_of_tests_in_cells_are_seen(graphdoctor: Command, tmp_path: Path) -> None:
    """Without them the fix of a branch was never verified: its line "did not run"."""
    (tmp_path / "net.ipynb").write_text(dump(SETUP, BRANCH), encoding="utf-8")
    options = ("--mode", "eval", "--output-format", "json")
    done = graphdoctor("scan", "net.ipynb:Net", "--input", "float32[2,4]", *options, cwd=tmp_path)
    [found] = report(done)["findings"]
    assert (found["rule"], found["fix"]["label"]) == ("GD201", "verified"), found["fix"]["doubts"]
