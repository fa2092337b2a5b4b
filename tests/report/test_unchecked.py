"""What a scan did not look at, in sentences."""

from __future__ import annotations

from dataclasses import replace

from graphdoctor.model.findings import Diagnosis
from graphdoctor.model.left_out import NOTHING_MORE, RECOMPILES
from graphdoctor.model.runs import DeviceChecks, FullGraph, Sweep
from graphdoctor.report.unchecked import unchecked


def test_every_gap_of_a_run(compared: Diagnosis) -> None:
    assert unchecked(compared) == (
        "1 file could not be read.",
        "1 file was skipped.",
        "Net, train mode, on cpu: graph breaks, fullgraph=True, recompiles and outputs were not measured, stopped at the "
        "time limit.",
        "Nothing ran on a GPU: CUDA graphs, and what is different there, were not checked.",
        "Speed was not measured: the graphs ran without Inductor.",
        "1 finding is on lines that the run did not reach.",
        "1 finding is predicted, not checked by a run.",
        "2 findings not compared with main: one side was not run or not read.",
    )


def test_what_was_not_tried_in_a_run(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run = replace(rich.dynamic[0], fullgraph=FullGraph(None), numerics=None, recompiles=(), device="cuda")
    assert unchecked(replace(rich, dynamic=(run,), files=(), findings=())) == (
        "Net, eval mode, on cuda: fullgraph=True was not tried, the outputs were not compared, only inputs of these "
        "sizes were tried, so what recompiles is not known.",
        "Train mode was not run.",
        "Speed was not measured: the graphs ran without Inductor.",
    )
    ranks = (replace(run, target="rank 0"), replace(run, target="rank 1"))
    watched = [replace(each, fullgraph=FullGraph(None, "this is read from a trace")) for each in ranks]
    assert unchecked(replace(rich, dynamic=tuple(watched), files=(), findings=()))[0] == (
        "rank 0 and rank 1, eval mode, on cuda: fullgraph=True was not tried, the outputs were not compared."
    )
    both = unchecked(replace(rich, dynamic=(run, replace(run, mode="train")), files=(), findings=()))
    assert [text.partition(":")[0] for text in both] == ["Net, eval and train mode, on cuda", "Speed was not measured"]
    swept = replace(run, mode="train", sweeps=(Sweep("batch 4, 5", True, 2, 1),))
    assert "so what recompiles" not in " ".join(unchecked(replace(rich, dynamic=(swept,))))
    assert "Eval mode was not run." in unchecked(replace(rich, dynamic=(swept,)))
    # A program that trains may evaluate as well; its trace does not say.
    program = replace(watched[0], mode="train")
    assert not [text for text in unchecked(replace(rich, dynamic=(program,))) if text.startswith("Eval mode")]


def test_what_a_device_could_not_show_is_said_once_for_both_modes(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run = replace(rich.dynamic[0], device_checks=DeviceChecks(unchecked=("CUDA graphs: they need a GPU",)))
    found = unchecked(replace(rich, dynamic=(run, replace(run, mode="train"))))
    # One sentence on the device, not two.
    assert [text for text in found if "CUDA" in text] == [
        "Nothing ran on a GPU. Not measured on cpu: CUDA graphs: they need a GPU."
    ]


def test_a_run_of_an_unknown_mode_says_nothing_of_modes(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run = replace(rich.dynamic[0], mode="unknown")
    found = " ".join(unchecked(replace(rich, dynamic=(run,))))
    assert "mode" not in found


def test_a_static_scan_says_that_nothing_ran(clean: Diagnosis, rich: Diagnosis) -> None:
    assert unchecked(clean) == ("No code was run: the findings are what the source shows, and a run may meet more.",)
    # Of findings in the source the first sentence says it already.
    assert len(unchecked(replace(rich, dynamic=None))) == 3


def test_fixes_that_no_run_verified(clean: Diagnosis, rich: Diagnosis) -> None:
    fix = rich.findings[0].fix
    assert fix is not None
    untried = replace(rich.findings[0], fix=replace(fix, grade="not-verified"))
    findings = (rich.findings[0], rich.findings[1], untried)
    assert unchecked(replace(clean, findings=findings))[1:] == ("1 of the 2 fixes was not tried in a run.",)
    ran = replace(clean, findings=findings, command="graphdoctor run train.py")
    assert unchecked(ran)[-1] == "1 of the 2 fixes was not tried in a run; `graphdoctor run --verify` tries them."


def test_what_was_stopped_comes_first(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    swept = (Sweep("the same inputs", True, 4, 1),)
    lines = (f"{RECOMPILES} (eval): stopped, no result after 120 s", "exporting (eval): left out, it would take 90 s")
    run = replace(rich.dynamic[0], recompiles=(), sweeps=swept, left_out=lines)
    first, second, *rest = unchecked(replace(rich, dynamic=(run, replace(run, mode="train", left_out=()))))
    assert first == (
        "Not all other inputs were tried in eval mode, so more may recompile than is said here: stopped, no result after "
        "120 s."
    )
    assert second == "Exporting (eval): left out, it would take 90 s."
    assert not [text for text in rest if "so what recompiles is not known" in text]
    ended = replace(run, sweeps=(), left_out=(f"{NOTHING_MORE}: the worker did not start",))
    assert unchecked(replace(rich, dynamic=(ended,)))[0].endswith("said here: the worker did not start.")


def test_a_fix_that_overlaps_one_that_was_tried_is_no_gap(rich: Diagnosis) -> None:
    head = rich.findings[0]
    assert head.fix is not None and rich.verification is not None
    untried = replace(head.fix, grade="not-verified")
    inside = replace(head, location=replace(head.location, column=14), fingerprint="inside", fix=untried)
    gaps = unchecked(replace(rich, findings=(head, inside)))
    assert not [text for text in gaps if "tried in a run" in text]
    assert any("tried in a run" in text for text in unchecked(replace(rich, findings=(inside,), verification=None)))
