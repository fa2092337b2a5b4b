"""Options about a run: which do not go together; where the script of a ladder goes, or why there is none."""

from pathlib import Path

import pytest

from graphdoctor.commands.options.depth import check_depth, faster, write_repro
from graphdoctor.commands.problems import OneLine
from graphdoctor.model.findings import Diagnosis, Summary
from graphdoctor.model.runs import DynamicRun, Ladder, Stage
from graphdoctor.scan.options import DepthOptions

SUMMARY = Summary("ready", "Ready", 0, 0, 0, 0, 1, 0, 1, 0)


def diagnosis(*ladders: Ladder) -> Diagnosis:
    runs = tuple(DynamicRun("Net", "eval", "cpu", "ok", ladder=ladder) for ladder in ladders)
    return Diagnosis("1", {}, "", SUMMARY, (), (), runs, None)


def test_the_first_script_is_written_and_nothing_unasked(tmp_path: Path) -> None:
    made = diagnosis(Ladder(()), Ladder((), "import torch\n"))
    write_repro(made, None)
    assert list(tmp_path.iterdir()) == []
    write_repro(made, str(tmp_path / "repro.py"))
    assert (tmp_path / "repro.py").read_text() == "import torch\n"


@pytest.mark.parametrize(
    ("ladders", "reason"),
    [
        ((), "nothing was run"),
        ((Ladder((Stage("eager", "ok"),)),), "every backend worked"),
        ((Ladder((Stage("eager", "failed", "Dynamo"),)),), "no script that runs on its own"),
    ],
)
def test_why_there_is_no_script(
    ladders: tuple[Ladder, ...], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_repro(diagnosis(*ladders), str(tmp_path / "repro.py"))
    assert reason in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("depth", "vary", "run", "start"),
    [
        (DepthOptions(audit=True), (), False, "--no-run runs nothing, and --audit "),
        (DepthOptions(export=True), (), False, "--no-run runs nothing, and --export "),
        (DepthOptions(optimizer="sgd"), (), False, "--no-run runs nothing, and --optimizer "),
        (DepthOptions(), ("x:0=3,4",), False, "--no-run runs nothing, and --vary "),
        (DepthOptions(quick=True, ladder=True), (), None, "--quick stops at the verdict, and --ladder "),
    ],
)
def test_what_does_not_go_together(depth: DepthOptions, vary: tuple[str, ...], run: bool | None, start: str) -> None:
    with pytest.raises(OneLine) as caught:
        check_depth(depth, vary, run)
    assert str(caught.value).startswith(start)


def test_what_goes_together() -> None:
    check_depth(DepthOptions(quick=True), (), False)
    check_depth(DepthOptions(deep=True, audit=True, optimizer="sgd"), ("x:0=3,4",), None)


@pytest.mark.parametrize(
    ("seconds", "depth", "vary", "told"),
    [
        (90.4, DepthOptions(), (), True),
        (30.0, DepthOptions(), (), False),
        (90.4, DepthOptions(quick=True), (), False),
        (90.4, DepthOptions(ladder=True), (), False),
        (90.4, DepthOptions(), ("batch=4,5",), False),
        (90.4, DepthOptions(export=True), (), True),
    ],
)
def test_after_long_runs_the_faster_way_is_named(
    seconds: float, depth: DepthOptions, vary: tuple[str, ...], told: bool
) -> None:
    text = "the runs took 90 s; --quick stops at the verdict: no fix is verified, no recompile counted"
    assert faster(seconds, depth, vary) == (text if told else "")
