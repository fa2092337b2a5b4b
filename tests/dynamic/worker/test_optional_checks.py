"""What comes after the verdict: recompiles, of a large model with all sizes changed at once, and breaks that they show."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from graphdoctor.breaks.locations import Places
from graphdoctor.cli import cli
from graphdoctor.dynamic.parent.protocol import RunRequest
from graphdoctor.dynamic.tracing.backend import CountingBackend
from graphdoctor.dynamic.user_code.target import Sample, Target
from graphdoctor.dynamic.worker.experiment import Experiment
from graphdoctor.dynamic.worker.optional_checks import Deeper

FOLDER = str(Path(__file__).parent)
PLACES = Places(root=FOLDER, own=(FOLDER,), torch=str(Path(torch.__file__).parent))

pytestmark = pytest.mark.usefixtures("fresh_dynamo")
eager_sizes: list[int] = []


def long(x: torch.Tensor) -> torch.Tensor:
    if not torch.compiler.is_compiling():
        eager_sizes.append(len(x))
    for _ in range(151):
        x = (x + 1).relu()
    return x


def fixed(x: torch.Tensor) -> torch.Tensor:
    return long(x).view(4, 3)


@pytest.mark.parametrize(
    ("function", "varied", "eager"),
    [(long, ["batch 4, 4, 5, 6"], [4]), (fixed, ["the same inputs, 4 calls"], [4, 4, 4, 5, 6, 1])],
)
def test_sizes_that_eager_takes_are_compiled_at_once(
    function: Callable[[torch.Tensor], torch.Tensor], varied: list[str], eager: list[int]
) -> None:
    eager_sizes.clear()
    target = Target("f", lambda: Sample(function, (torch.ones(4, 3),)), torch.device("cpu"))
    request = RunRequest(Path(__file__), Path(FOLDER))
    experiment = Experiment(target, "eval", request, PLACES, CountingBackend())
    run = experiment.run(lambda _run, _complete: None, lambda _text: None)
    found = Deeper(experiment, lambda _run: None, lambda _text: None).run(run)
    assert [sweep.varied for sweep in found.sweeps] == varied
    assert (found.recompiles, eager_sizes) == ((), eager)


SOURCE = """\
import torch
import torch.nn.functional as F


def f(x, y):
    return F.scaled_dot_product_attention(x, y, y, is_causal={causal})


def graphdoctor_target():
    return f, (torch.rand(2, 4, 8), torch.rand(2, 4, 8))
"""


@pytest.mark.parametrize(
    ("causal", "fixed"), [("x.shape[1] > 1", True), ("(many := x.shape[1] > 1)", False)], ids=["fix", "no-fix"]
)
def test_a_break_that_comes_once_a_size_varies_confirms_its_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, causal: str, fixed: bool
) -> None:
    """After the verification of the fix, where there is one: the finding keeps what that showed."""
    (tmp_path / "net.py").write_text(SOURCE.format(causal=causal))
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["scan", "net.py", "--output-format", "json", "--output", "report.json"])
    assert result.exit_code == 1, result.output
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["summary"]["headline"].startswith("Not ready: 0 graph breaks in your code")
    assert report["summary"]["headline"].endswith("1 graph break in calls with other inputs")
    (finding,) = report["findings"]
    assert (finding["rule"], finding["status"], finding["severity"]) == ("GD219", "confirmed", "error")
    assert (finding["fix"]["grade"] == "general") is fixed
    broken = [entry["line"] for run in report["dynamic"] for sweep in run["sweeps"] for entry in sweep["breaks"]]
    assert broken == [6]
    assert not any("mark" in (cause["remedy"] or "") for run in report["dynamic"] for cause in run["recompiles"])
