"""Which changes come first, and what they are said to remove."""

from __future__ import annotations

from dataclasses import replace

from graphdoctor.model import Diagnosis
from graphdoctor.report.first import first_actions


def test_findings_in_their_order_then_recompiles(rich: Diagnosis) -> None:
    places = [action.place for action in first_actions(rich)]
    assert places == ["model.py:18", "model.py:21", "model.py:40", "model.py:17"]


def test_effects_are_counted(rich: Diagnosis) -> None:
    printed, branch, *_, recompile = first_actions(rich)
    assert branch.effect == "removes 1 graph break event and lets Net.forward be compiled"
    assert printed.effect == "removes 3 graph break events"
    assert recompile.effect == "recompiles: 8 compilations, 2 with the remedy (measured)"


def test_what_breaks_with_fullgraph_only_removes_no_event(rich: Diagnosis) -> None:
    confirmed = next(f for f in rich.findings if f.status == "confirmed")
    (action,) = first_actions(replace(rich, findings=(replace(confirmed, events=0),), dynamic=None))
    assert action.effect == "lets fullgraph=True get past it"


def test_at_most_five(rich: Diagnosis) -> None:
    assert len(first_actions(replace(rich, findings=rich.findings * 9))) == 5


def test_what_was_refuted_or_not_reached_or_mere_information_is_no_action(rich: Diagnosis) -> None:
    idle = tuple(f for f in rich.findings if f.status in ("refuted", "not-reached") or f.severity == "info")
    assert len(idle) == 3
    assert first_actions(replace(rich, findings=idle, dynamic=None)) == ()


def test_the_same_remedy_of_two_runs_is_one_action(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run = rich.dynamic[0]
    twice = replace(rich, findings=(), dynamic=(run, replace(run, mode="train")))
    assert [action.title for action in first_actions(twice)] == ["torch._dynamo.mark_dynamic(x, 0)"]
