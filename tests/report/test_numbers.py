"""The numbers at the top."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from graphdoctor.model.findings import Diagnosis
from graphdoctor.model.left_out import RECOMPILES
from graphdoctor.model.runs import FullGraph, Sweep
from graphdoctor.report.numbers import numbers


def test_numbers_of_a_run(rich: Diagnosis) -> None:
    shown = {number.label: (number.value, number.tone) for number in numbers(rich)}
    assert shown == {
        "graph breaks": ("3", "bad"),
        "graphs": ("4", "neutral"),
        "fullgraph=True": ("fails", "bad"),
        "recompile causes": ("1", "bad"),
        "outputs": ("equal", "good"),
        "findings": ("6", "bad"),
    }


def test_numbers_of_a_static_scan(clean: Diagnosis) -> None:
    assert [(number.label, number.value) for number in numbers(clean)] == [("findings", "0"), ("files", "1")]


def test_no_graph_at_all_is_bad(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    nothing = replace(rich, summary=replace(rich.summary, graphs=0, breaks=0, breaks_own=0))
    graphs = next(number for number in numbers(nothing) if number.label == "graphs")
    assert (graphs.value, graphs.tone) == ("0", "bad")


def test_fullgraph_passes_only_when_each_run_passes(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    passing = replace(rich.dynamic[0], fullgraph=FullGraph(True))
    both = numbers(replace(rich, dynamic=(passing, rich.dynamic[0])))
    assert next(number.value for number in both if number.label == "fullgraph=True") == "fails"
    alone = numbers(replace(rich, dynamic=(passing,)))
    assert next(number.value for number in alone if number.label == "fullgraph=True") == "passes"


def test_a_share_is_that_of_all_runs_or_none(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run = rich.dynamic[0]
    both = numbers(replace(rich, dynamic=(run, replace(run, mode="train", compiled_share=None))))
    assert next(number.detail for number in both if number.label == "graphs") == "in 2 runs"


def test_modes_that_differ_are_counted_apart(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run = replace(rich.dynamic[0], mode="eval", graphs=1, compiled_share=1.0)
    given_up = replace(run, mode="train", graphs=0, compiled_share=0.0)
    details = [
        next(number.detail for number in numbers(replace(rich, dynamic=runs)) if number.label == "graphs")
        for runs in ((run, replace(run, mode="train")), (run, given_up), (run, replace(given_up, mode="eval")))
    ]
    assert details == [
        "100 % of the operators compiled",
        "eval: 1, 100 % compiled; train: 0, 0 % compiled",
        "the most of 2 runs; at least 0 % of the operators compiled",
    ]


def test_outputs_count_where_something_was_compiled(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run = replace(rich.dynamic[0], mode="eval")
    train = replace(run, mode="train", graphs=0, compiled_share=0.0)
    both = {number.label: number for number in numbers(replace(rich, dynamic=(run, train)))}
    assert both["outputs"].detail.startswith("of compiled and eager code in eval mode")
    assert "outputs" not in {number.label for number in numbers(replace(rich, dynamic=(train,)))}


def test_predicted_findings_beside_an_exception_are_called_so(rich: Diagnosis) -> None:
    failed = replace(rich, summary=replace(rich.summary, verdict="not-run", breaks=None), dynamic=())
    found = next(number for number in numbers(failed) if number.label == "findings")
    assert found.detail.startswith("predicted: 3 errors")


def test_recompiles_are_no_number_where_no_other_inputs_were_tried(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    alone = replace(rich.dynamic[0], sweeps=(), recompiles=(), fullgraph=FullGraph(True))
    assert "recompile causes" not in {number.label for number in numbers(replace(rich, dynamic=(alone,)))}


def test_a_run_that_was_stopped_does_not_read_as_none(rich: Diagnosis) -> None:
    assert rich.dynamic is not None

    def tile(**changes: Any) -> tuple[str, str, str]:
        stopped = replace(rich.dynamic[0], left_out=(f"{RECOMPILES} (eval): stopped, no result after 9 s",), **changes)
        shown = numbers(replace(rich, dynamic=(stopped,)))
        return next((n.value, n.tone, n.detail) for n in shown if n.label == "recompile causes")

    why = "other inputs were not all tried: stopped, no result after 9 s"
    assert tile(recompiles=()) == ("not known", "neutral", why)
    assert tile(recompiles=(), sweeps=(Sweep("the same inputs", True, 4, 1),)) == ("not known", "neutral", why)
    assert tile() == ("at least 1", "bad", f"up to 8 compilations of one function; {why}")
    failed = replace(rich.dynamic[0], recompiles=(), detail="a variant raised")
    shown = numbers(replace(rich, dynamic=(failed,)))
    assert next(n.value for n in shown if n.label == "recompile causes") == "not known"


def test_fixes_that_do_nothing_yet_are_said(rich: Diagnosis) -> None:
    first, *others = rich.findings
    assert first.fix is not None
    idle = replace(first, fix=replace(first.fix, grade="no-effect"))
    found = numbers(replace(rich, findings=(idle, *others)))
    assert found[-1].detail.endswith("1 with a fix, without effect yet")
