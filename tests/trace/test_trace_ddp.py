"""A real job of two ranks: ``fixtures/ddp/train.py`` on gloo, with TORCH_TRACE set."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.page_counts import counts

Command = Callable[..., subprocess.CompletedProcess[str]]

SCRIPT = "fixtures/ddp/train.py"


@pytest.fixture(scope="module")
def traced(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of traces that the job wrote."""
    folder = tmp_path_factory.mktemp("trace")
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    env = {**os.environ, "TORCH_TRACE": str(folder), "OMP_NUM_THREADS": "1"}
    subprocess.run([*launch, SCRIPT], cwd=root, env=env, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def report(graphdoctor: Command, root: Path, traced: Path) -> dict[str, Any]:
    done = graphdoctor("trace", traced, "--output-format", "json", cwd=root)
    assert done.returncode == 1, done.stderr
    return dict(json.loads(done.stdout))


def line_of(root: Path, text: str) -> int:
    return next(n for n, line in enumerate((root / SCRIPT).read_text().splitlines(), 1) if text in line)


def test_both_ranks_are_reported(report: dict[str, Any]) -> None:
    assert report["environment"]["ranks"] == "ranks 0-1"
    assert [(run["target"], run["mode"], run["device"]) for run in report["dynamic"]] == [
        ("rank 0", "train", "cpu"),
        ("rank 1", "train", "cpu"),
    ]


def test_the_known_breaks_are_found_each_once(report: dict[str, Any], root: Path) -> None:
    own = [f for f in report["findings"] if f["owner"] == "own"]
    assert [(f["path"], f["line"], f["gb_ids"], f["function"]) for f in own] == [
        (SCRIPT, line_of(root, 'print("block"'), ["GB0059"], "Block.forward"),
        (SCRIPT, line_of(root, "x.mean().item()"), ["GB0124"], "Net.forward"),
    ]


def test_a_break_of_one_rank_is_told_apart(report: dict[str, Any], root: Path) -> None:
    everywhere, on_one = (f for f in report["findings"] if f["owner"] == "own")
    assert "rank" not in everywhere["message"]
    assert on_one["fact"].endswith("(on rank 1 only)")
    line = line_of(root, "x.mean().item()")
    assert f"ranks differ: {SCRIPT}:{line} breaks (GB0124) on rank 1 only" in report["notes"]


def test_the_argument_that_differs_is_named(report: dict[str, Any]) -> None:
    assert (
        "on rank 1 only, where careful is True (False on rank 0); take the same path" in report["summary"]["headline"]
    )


def test_what_ddp_does_itself_is_no_break_of_the_user(report: dict[str, Any]) -> None:
    others = {f["owner"]: f["severity"] for f in report["findings"] if f["owner"] != "own"}
    assert others == {"torch": "info"}
    assert report["summary"]["breaks_own"] == 2


def test_splits_of_ddp_are_no_graph_breaks(report: dict[str, Any]) -> None:
    [note] = [note for note in report["notes"] if note.startswith("DDPOptimizer")]
    assert "1 graph into 2 on rank 0" in note
    assert note.endswith("no graph break")


def test_only_rank_1_is_compiled_again_for_its_last_batch(report: dict[str, Any]) -> None:
    first, second = report["dynamic"]
    assert first["recompiles"] == []
    sizes = [(r["input"], r["dimension"], r["compilations"]) for r in second["recompiles"] if r["input"]]
    assert sizes == [("x", 0, 2)]


def test_compile_seconds_are_told_for_each_rank_and_function(report: dict[str, Any], root: Path) -> None:
    timings = report["timings"]
    assert timings["compile rank 0"] > 0 and timings["compile rank 1"] > 0
    function = f"compile {SCRIPT}:{line_of(root, 'def forward(self, x: torch.Tensor, careful')} Net.forward"
    assert 0 < timings[function] <= timings["compile rank 0"] + timings["compile rank 1"]


@pytest.mark.parametrize("output_format", ["text", "markdown"])
def test_the_other_reports_say_the_same(graphdoctor: Command, root: Path, traced: Path, output_format: str) -> None:
    done = graphdoctor("trace", traced, "--output-format", output_format, cwd=root)
    assert done.returncode == 1, done.stderr
    line = line_of(root, "x.mean().item()")
    assert f"Not ready: {SCRIPT}:{line} breaks the graph (GB0124) on rank 1 only" in done.stdout
    assert "2 graph breaks in your code" in done.stdout
    assert f"{SCRIPT}:{line_of(root, 'x.mean().item()')}" in done.stdout


def test_the_page_has_the_numbers_of_the_json(
    graphdoctor: Command, root: Path, traced: Path, report: dict[str, Any], tmp_path: Path
) -> None:
    done = graphdoctor("trace", traced, "--html", tmp_path / "report.html", "--exit-zero", cwd=root)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text()
    assert "on rank 1 only" in page
    rows = counts(page, report)
    assert [row for row in rows if row[1] != row[2]] == []
    assert {"lane rank 0", "lane rank 1"} <= {what.partition(",")[0] for what, _, _ in rows}


def test_torch_is_not_imported(root: Path, traced: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from graphdoctor.trace.diagnose import diagnose; "
        "diagnose(Path(sys.argv[1])); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(traced)], cwd=root, capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
