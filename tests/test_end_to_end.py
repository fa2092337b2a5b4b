"""One real scan from source file to report, held against what Dynamo says of the same file without graphdoctor."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from graphdoctor.report.json_format.reader import read
from graphdoctor.report.text import terminal
from graphdoctor.target_torch.tested import beside_tested
from tests.page_counts import counts

Command = Callable[..., subprocess.CompletedProcess[str]]

DEMO = "fixtures/demo/model.py"

#: No run meets its time limit, however busy the machine is.
PATIENT = ("--timeout", "900")

#: The classic breaks of the demo: a part of the line, and the rule that finds it.
CLASSICS = {
    "logger.warning(": "GD103",
    "assert (ids": "GD203",
    'print("input"': "GD101",
    "if torch.isnan(x)": "GD202",
    "if x.abs().max()": "GD201",
    "logger.info(": "GD103",
    "self.temperature.item()": "GD211",
}


@dataclass(frozen=True)
class Scan:
    """One ``graphdoctor scan`` of one file, with JSON on standard output and an HTML report."""

    exit_code: int
    report: dict[str, Any]
    html: str
    unchanged: bool

    @property
    def runs(self) -> list[dict[str, Any]]:
        return list(self.report["dynamic"] or [])


def state(folder: Path) -> dict[str, tuple[str, int]]:
    """Hash and modification time of every file under ``folder``."""
    return {
        str(file): (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns)
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def scan(graphdoctor: Command, root: Path, name: str, html: Path, *options: str, mode: str = "eval") -> Scan:
    before = state(root / "fixtures")
    output = ("--output-format", "json", "--html", html)
    done = graphdoctor("scan", name, "--mode", mode, *output, *options, *PATIENT, cwd=root)
    assert done.returncode in (0, 1), done.stderr
    after = state(root / "fixtures")
    return Scan(done.returncode, json.loads(done.stdout), html.read_text(), before == after)


@pytest.fixture(scope="module")
def demo(graphdoctor: Command, root: Path, tmp_path_factory: pytest.TempPathFactory) -> Scan:
    return scan(graphdoctor, root, DEMO, tmp_path_factory.mktemp("demo") / "report.html", mode="both")


@pytest.fixture(scope="module")
def truth(root: Path) -> dict[str, dict[str, Any]]:
    """What the structured trace says of the demo, by mode."""
    return {capture["mode"]: capture for capture in captured(root, root / DEMO)}


def captured(root: Path, *files: Path) -> list[dict[str, Any]]:
    script = [sys.executable, "-B", str(root / "tests" / "capture_breaks.py"), *map(str, files)]
    done = subprocess.run(script, capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


def test_the_demo_has_findings(demo: Scan) -> None:
    assert demo.exit_code == 1
    assert demo.report["schema"] == "graphdoctor/1"
    assert demo.report["summary"]["verdict"] == "not-ready"
    assert {run["mode"] for run in demo.runs} == {"eval", "train"}


def test_the_readme_shows_what_is_printed(demo: Scan, root: Path) -> None:
    notes = [note for note in demo.report["notes"] if note != beside_tested(demo.report["environment"]["torch"])]
    printed = terminal.render(read(json.dumps({**demo.report, "notes": notes}))).split()
    _, _, rest = (
        (root / "README.md").read_text().partition("is part of what `graphdoctor scan fixtures/demo/model.py` prints:")
    )
    shown = textwrap.dedent(rest.partition("What a rule says")[0])
    parts = [part.split() for part in shown.split("\n...\n")]
    assert len(parts) == 3
    for part in parts:
        assert f" {' '.join(part)} " in f" {' '.join(printed)} "


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_breaks_are_exactly_those_of_the_structured_trace(
    demo: Scan, truth: dict[str, dict[str, Any]], root: Path, mode: str
) -> None:
    [run] = [run for run in demo.runs if run["mode"] == mode]
    assert run["outcome"] == "ok"
    expected = sorted({(path, line) for path, line in truth[mode]["events"]})
    assert sorted((str(root / b["path"]), b["line"]) for b in run["breaks"]) == expected
    assert sum(b["events"] for b in run["breaks"]) == len(truth[mode]["events"])
    assert run["graphs"] == truth[mode]["graphs"]
    assert sorted(b["gb_id"] for b in run["breaks"]) == sorted(b["gb_id"] for b in demo.runs[0]["breaks"])


def test_every_break_is_joined_or_marked_missed(demo: Scan) -> None:
    breaks = {(b["path"], b["line"]) for run in demo.runs for b in run["breaks"]}
    seen = {
        (f["path"], line)
        for f in demo.report["findings"]
        if f["status"] in ("confirmed", "dynamic-only")
        for line in range(f["line"], f["end_line"] + 1)
    }
    assert breaks and breaks <= seen


@pytest.mark.parametrize(("part", "rule"), CLASSICS.items())
def test_each_classic_break_is_predicted_and_confirmed(demo: Scan, root: Path, part: str, rule: str) -> None:
    lines = (root / DEMO).read_text().splitlines()
    [line] = [number for number, text in enumerate(lines, 1) if part in text]
    [finding] = [f for f in demo.report["findings"] if f["line"] == line]
    assert (finding["rule"], finding["status"], finding["owner"]) == (rule, "confirmed", "own")


def test_nothing_but_the_classic_breaks_is_found(demo: Scan) -> None:
    assert sorted(f["rule"] for f in demo.report["findings"]) == sorted(CLASSICS.values())


def test_without_the_fixes_fullgraph_fails(demo: Scan) -> None:
    assert [run["fullgraph"]["passes"] for run in demo.runs] == [False, False]


def test_with_the_fixes_no_break_is_left_and_outputs_are_equal(demo: Scan) -> None:
    verification = demo.report["verification"]
    assert sorted(verification["fixes"]) == sorted(f["fingerprint"] for f in demo.report["findings"])
    assert (verification["breaks"], verification["fullgraph_passes"]) == (0, True)
    assert verification["numerics"]["equal"] is True
    assert verification["grade"] == "general"
    assert {f["fix"]["label"] for f in demo.report["findings"]} <= {"safe", "verified"}


def test_a_scan_changes_no_file(demo: Scan) -> None:
    assert demo.unchanged


def test_written_fixes_satisfy_dynamo(graphdoctor: Command, root: Path, tmp_path: Path) -> None:
    """The fixes on disk, judged by torch alone: no break, one graph, outputs and gradients of the original."""
    fixed = tmp_path / "model.py"
    shutil.copy(root / DEMO, fixed)
    done = graphdoctor("scan", "model.py", "--no-run", "--fix", "--unsafe-fixes", cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr
    for capture in captured(root, fixed):
        assert (capture["events"], capture["graphs"], capture["fullgraph"]) == ([], 1, True)
    compare = (
        "import importlib.util, sys, torch\n"
        "def results(path):\n"
        "    spec = importlib.util.spec_from_file_location('model', path)\n"
        "    module = importlib.util.module_from_spec(spec)\n"
        "    spec.loader.exec_module(module)\n"
        "    torch.manual_seed(0)\n"
        "    model, args = module.graphdoctor_target()\n"
        "    outputs = model.train()(*args)\n"
        "    outputs.mean().backward()\n"
        "    gradients = [p.grad for p in model.parameters() if p.grad is not None]\n"
        "    assert gradients\n"
        "    return [outputs, *gradients]\n"
        "before, after = results(sys.argv[1]), results(sys.argv[2])\n"
        "assert len(before) == len(after) and all(map(torch.equal, before, after))\n"
    )
    subprocess.run([sys.executable, "-B", "-c", compare, str(root / DEMO), str(fixed)], check=True)

    again = graphdoctor("scan", "model.py", "--diff", "--no-run", cwd=tmp_path)
    assert (again.returncode, again.stdout.strip()) == (0, "")


class Links(HTMLParser):
    """Collects what a page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.loads += [(tag, value or "") for name, value in attributes if name in ("src", "srcset", "data")]
        self.loads += [(tag, value or "") for name, value in attributes if tag == "link" and name == "href"]


def test_the_html_is_one_small_file_with_the_same_content(demo: Scan) -> None:
    assert len(demo.html.encode()) < 300_000
    links = Links()
    links.feed(demo.html)
    assert [load for load in links.loads if not load[1].startswith("data:")] == []
    for finding in demo.report["findings"]:
        assert f"{finding['path']}:{finding['line']}" in demo.html
    rows = counts(demo.html, demo.report)
    assert [row for row in rows if row[1] != row[2]] == []
    assert len(rows) > 80


def test_json_is_the_same_twice(graphdoctor: Command, root: Path) -> None:
    command = ("scan", "--no-run", "fixtures/demo", "--output-format", "json")
    first, second = (json.loads(graphdoctor(*command, cwd=root).stdout) for _ in range(2))
    assert first.pop("timings") is not None and second.pop("timings") is not None
    assert first == second


@pytest.fixture(scope="module")
def loop(graphdoctor: Command, root: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """The nothing-is-compiled fixture: its text report and its JSON."""
    data = tmp_path_factory.mktemp("loop") / "report.json"
    name = "fixtures/nothing_compiled/model.py"
    text = graphdoctor(
        "scan", name, "--mode", "eval", "--no-verify", "--verbose", "--report", f"json={data}", *PATIENT, cwd=root
    )
    return text.stdout, json.loads(data.read_text())


def test_when_nothing_is_compiled_the_first_line_says_so(loop: tuple[str, dict[str, Any]]) -> None:
    text, report = loop
    assert "nothing" in text.splitlines()[0].lower()
    assert report["summary"]["verdict"] == "nothing-compiled"
    [run] = report["dynamic"]
    assert (run["graphs"], [b["whole_frame"] for b in run["breaks"]]) == (0, [True])


def test_when_nothing_is_compiled_explain_disagrees(loop: tuple[str, dict[str, Any]]) -> None:
    text, report = loop
    explain = report["dynamic"][0]["explain"]
    assert (explain["graphs"], explain["breaks"], explain["reasons"]) == (0, -1, 0)
    assert explain["disagrees"] in " ".join(text.split())


def test_a_kernelbench_file_runs_unchanged(graphdoctor: Command, root: Path, tmp_path: Path) -> None:
    done = scan(graphdoctor, root, "fixtures/kernelbench/matmul_gelu.py", tmp_path / "report.html")
    assert (done.exit_code, done.report["summary"]["verdict"], done.report["findings"]) == (0, "ready", [])
    [run] = done.runs
    assert (run["outcome"], run["fullgraph"]["passes"], run["numerics"]["equal"]) == ("ok", True, True)
    assert done.unchanged


@pytest.mark.parametrize("name", ["clean/model.py", "captioner/model.py", "captioner/language_model_fixed.py"])
def test_clean_models_are_ready(graphdoctor: Command, root: Path, tmp_path: Path, name: str) -> None:
    # Of the larger ones the verdict must do: what comes after it takes most of the time.
    options = ["--quick"] if name.startswith("captioner/") else []
    done = scan(graphdoctor, root, f"fixtures/{name}", tmp_path / "report.html", *options)
    assert (done.exit_code, done.report["summary"]["verdict"], done.report["findings"]) == (0, "ready", [])
    [run] = done.runs
    assert (run["breaks"], run["graphs"], run["fullgraph"]["passes"]) == ([], 1, True)


def test_the_loss_function_break_is_found_in_transformers(graphdoctor: Command, root: Path, tmp_path: Path) -> None:
    done = scan(graphdoctor, root, "fixtures/captioner/language_model.py", tmp_path / "report.html", "--quick")
    assert (done.exit_code, done.report["summary"]["verdict"]) == (1, "not-ready")
    [run] = done.runs
    [found] = run["breaks"]
    assert found["path"].endswith("transformers/modeling_utils.py")
    assert found["function"].endswith("loss_function")
    assert (found["gb_id"], found["owner"]) == ("GB0291", "third-party")
    assert found["events"] > 1
    assert ("third-party", "GB0291") in {(f["owner"], *f["gb_ids"]) for f in done.report["findings"]}
    assert "GD602" in {f["rule"] for f in done.report["findings"]}
