"""Which changes come first, and what they are said to remove."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from graphdoctor.breaks.measured_costs import not_reached_yet
from graphdoctor.breaks.recompiles.guards import REMOVE_BREAKS
from graphdoctor.model.findings import Diagnosis, Edit, Fix, Guarded
from graphdoctor.model.runs import Frame
from graphdoctor.report.first_actions import first_actions
from graphdoctor.report.proof import against, proof


def test_findings_in_their_order_then_recompiles(rich: Diagnosis) -> None:
    places = [action.place for action in first_actions(replace(rich, verification=None))]
    assert places == ["model.py:18", "model.py:21", "model.py:40", "model.py:17"]
    # What the verified fixes mend is left out; one command applies them.
    assert [action.place for action in first_actions(rich)] == places[1:]


def test_what_a_break_left_behind_is_gone_with_all_of_them(rich: Diagnosis) -> None:
    assert rich.verification is not None and not rich.verification.breaks
    left = replace(rich.findings[1], status="dynamic-only", gb_ids=("GB8335",), fix=None, fingerprint="left")
    scanned = replace(rich, findings=(rich.findings[0], left))
    assert [action.finding for action in first_actions(scanned) if action.finding] == []
    some = replace(scanned, verification=replace(rich.verification, breaks=1))
    assert [action.finding for action in first_actions(some) if action.finding] == [left]


def test_what_raises_only_without_the_fixes_is_no_action(rich: Diagnosis) -> None:
    assert rich.dynamic is not None and rich.verification is not None
    raised = Frame("model.py", 18, "forward")
    run = replace(rich.dynamic[0], outcome="user-error", detail="TypeError: no", raised_at=raised, recompiles=())
    failed = replace(rich, dynamic=(run,), findings=rich.findings[:1])
    in_vain = replace(failed, verification=replace(rich.verification, fullgraph_passes=False))
    assert [action.place for action in first_actions(in_vain)] == ["model.py:18"]
    assert first_actions(failed) == ()


def test_fixes_that_were_tried_and_remove_nothing_are_not_offered(rich: Diagnosis) -> None:
    assert rich.verification is not None
    printed, branch = rich.findings[:2]
    vain = replace(rich.verification, breaks=9, fullgraph_passes=False, grade="none")
    vain = replace(vain, fixes=(printed.fingerprint, branch.fingerprint))
    left = first_actions(replace(rich, findings=(printed, replace(branch, status="static-only")), verification=vain))
    assert [(action.place, action.title) for action in left[:-1]] == [
        ("model.py:18", "Print only when the code is not being compiled.")
    ]


def test_effects_are_counted(rich: Diagnosis) -> None:
    printed, branch, library, recompile = first_actions(replace(rich, verification=None))
    assert branch.effect == "would remove a graph break that keeps Net.forward from being compiled at all"
    assert printed.effect == "would remove a graph break"
    assert printed.title == "apply the safe fix: the call only writes to stdout"
    assert ". For the authors of the library: " in library.title
    assert library.effect.endswith("; the code is a library's, and this line of yours calls it")
    # A finding in a file of the library says which line calls it.
    place = replace(rich.findings[4].location, path="venv/lib/python3.11/site-packages/lib/core.py")
    inside = replace(rich.findings[4], location=place, fact="in a library, called from line 9 of model.py: print()")
    (action,) = first_actions(replace(rich, findings=(inside,), dynamic=()))
    assert (action.place, action.effect.partition("; ")[2]) == (
        "lib/core.py:40", "in a library, called from line 9 of model.py",
    )  # fmt: skip
    assert rich.dynamic is not None
    cause = rich.dynamic[0].recompiles[0].cause
    assert recompile.effect == f"recompiles: {cause}; 8 compilations, 2 with the suggested fix (measured)"


def test_a_recompile_at_the_place_of_a_finding_is_no_action_of_its_own(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run = rich.dynamic[0]
    place = rich.findings[1].location
    here = replace(run, recompiles=(replace(run.recompiles[0], path=place.path, line=place.line),))
    found = first_actions(replace(rich, findings=rich.findings[1:2], dynamic=(here,)))
    assert [action.finding for action in found] == [rich.findings[1]]


def test_a_recompile_that_a_finding_explains_is_no_action_of_its_own(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    recompile = replace(rich.dynamic[0].recompiles[0], path="net.py", kind="value", name="scale")
    run = replace(rich.dynamic[0], recompiles=(recompile,))
    for name, count in (("scale", 1), ("rate", 2)):
        finding = replace(rich.findings[1], guarded=Guarded("net.py", name))
        actions = first_actions(replace(rich, findings=(finding,), dynamic=(run,)))
        assert len(actions) == count
        assert all(action.effect.startswith(f"recompiles: {recompile.cause}; ") for action in actions[count - 1 :])


def test_without_a_run_many_findings_are_told_by_rule(many: Callable[[int], Diagnosis]) -> None:
    found = replace(many(60), dynamic=None)
    actions = first_actions(found)
    assert [action.finding.rule for action in actions if action.finding] == ["GD101", "GD110", "GD000"]
    assert actions[0].effect.partition(";")[0].endswith("of GD101 in 1 file")


def test_without_a_run_what_one_setting_records_is_one_action(many: Callable[[int], Diagnosis]) -> None:
    line = "torch._dynamo.config.capture_scalar_outputs = True"
    setting = Fix("unsafe", "It is set.", (Edit("model.py", (3, 1), (3, 1), f"\n{line}\n"),))
    base = many(13)
    found = [
        replace(finding, status="static-only", severity="error", fix=setting, rule=f"GD21{number % 3}")
        for number, finding in enumerate(base.findings)
    ]
    others = [replace(finding, rule="GD405", fix=None, suggestion=f"help {finding.rule}") for finding in found[9:]]
    scanned = replace(base, dynamic=None, verification=None, findings=(*others, *found[:9]))
    first, *rest = first_actions(scanned)
    assert first.title == f"try `{line}` once, before compiling (the findings say what else it changes)"
    assert first.effect == "9 findings of GD210, GD211 and GD212 in 1 file; 9 unsafe fixes"
    # What is advised tells apart the findings of one rule.
    assert [action.effect for action in rest] == [
        "2 findings of GD405 in 1 file",
        *["1 finding of GD405 in 1 file"] * 2,
    ]


def test_what_breaks_with_fullgraph_only_removes_no_event(rich: Diagnosis) -> None:
    confirmed = next(f for f in rich.findings if f.status == "confirmed")
    found = replace(rich, findings=(replace(confirmed, events=0),), dynamic=None, verification=None)
    (action,) = first_actions(found)
    assert action.effect == "would let fullgraph=True get past it"


def test_a_recompile_is_named_beside_many_breaks(rich: Diagnosis) -> None:
    every = first_actions(replace(rich, verification=None))
    first = first_actions(replace(rich, verification=None), limit=3)
    assert first == (*every[:2], every[-1]) and first[-1].recompile is not None


def test_at_most_five(many: Callable[[int], Diagnosis]) -> None:
    assert len(first_actions(many(60))) == 5


def test_findings_that_share_a_cause_are_one_action(rich: Diagnosis) -> None:
    found = rich.findings[1]
    inner = replace(found, location=replace(found.location, column=14), fingerprint="inner")
    (action,) = first_actions(replace(rich, findings=(found, inner), dynamic=None))
    assert action.finding == found
    assert "1 more finding has the same cause" in action.effect


def test_what_the_same_advice_mends_in_one_function_is_one_action(rich: Diagnosis) -> None:
    seen = replace(rich.findings[1], rule="GD516", fix=None, suggestion="store it outside")
    place = seen.location
    below = [
        replace(seen, status="static-only", fingerprint=str(line), location=replace(place, line=line, end_line=line))
        for line in (60, 61)
    ]
    scanned = replace(rich, findings=(seen, *below), verification=None)
    action, *others = first_actions(scanned)
    assert action.finding is seen
    assert action.effect.endswith("; the same for line 60, line 61")
    assert not any(other.finding for other in others)
    # A break that a run has seen is an action of its own.
    first, second, *_ = first_actions(
        replace(scanned, findings=(seen, replace(below[0], status="confirmed"), below[1]))
    )
    assert first.finding is seen and second.finding is not None and second.finding.status == "confirmed"


def test_an_action_names_the_code_and_an_unknown_effect_is_said(rich: Diagnosis) -> None:
    found = replace(
        rich.findings[1],
        fact="`if` on `x.sum() > 0`: `Net.forward_of_all` is not compiled",
        status="static-only",
        events=0,
    )
    (action,) = first_actions(replace(rich, findings=(found,), dynamic=None))
    assert action.title == "`x.sum() > 0`: Compute both sides and choose with torch.where."
    assert action.effect == "effect unknown: only a run shows it"


def test_of_many_conditions_the_first_is_named(rich: Diagnosis) -> None:
    found = replace(
        rich.findings[1], suggestion="Compute both sides; " + "; ".join(["and mind the dtypes"] * 10), fix=None
    )
    (action,) = first_actions(replace(rich, findings=(found,), dynamic=None))
    assert action.title.endswith("Compute both sides (the finding says what else)")


def test_what_was_refuted_or_not_reached_or_mere_information_is_no_action(rich: Diagnosis) -> None:
    idle = tuple(f for f in rich.findings if f.status in ("refuted", "not-reached") or f.severity == "info")
    assert len(idle) == 3
    assert first_actions(replace(rich, findings=idle, dynamic=None)) == ()


def test_the_same_remedy_of_two_runs_is_one_action(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run = rich.dynamic[0]
    twice = replace(rich, findings=(), dynamic=(run, replace(run, mode="train")))
    assert [action.title for action in first_actions(twice)] == ["torch._dynamo.mark_dynamic(x, 0)"]


def test_what_differs_between_ranks_comes_first(rich: Diagnosis) -> None:
    finding = rich.findings[0]
    line = f"{finding.location.path}:{finding.location.line}"
    sentence = f"{line} breaks the graph (GB0059) on rank 1 only; take the same path on every rank"
    found = replace(rich, summary=replace(rich.summary, uneven=sentence), verification=None)
    first, *others = first_actions(found)
    assert (first.place, first.finding, first.effect) == (line, finding, "no run has tried it")
    # The break may go, too, so no other action is for it.
    assert first.title == f"{sentence}; or apply its safe fix"
    assert finding not in [action.finding for action in others]
    of_library = replace(found, findings=())
    assert first_actions(of_library)[0].title == sentence
    # With the fix that a run verified, no rank breaks there.
    fixed = replace(found, verification=rich.verification)
    assert sentence not in first_actions(fixed)[0].title
    more = sentence.replace(" only;", " only (and 1 other place);")
    assert more in first_actions(replace(fixed, summary=replace(fixed.summary, uneven=more)))[0].title


def test_a_recompile_for_what_a_break_left_is_gone_with_the_break(rich: Diagnosis) -> None:
    assert rich.dynamic is not None and rich.verification is not None
    run = rich.dynamic[0]
    left = replace(run.recompiles[0], guard="___stack2 == 999", path="model.py", line=900)
    found = replace(rich, dynamic=(replace(run, recompiles=(left,)),))
    clean = replace(rich.verification, breaks=0)
    assert not [a for a in first_actions(replace(found, verification=clean)) if a.finding is None]
    # The break is an action then, and one is enough; where it is not listed, the recompile is all that there is to do.
    unverified = replace(found, verification=None)
    assert not [a for a in first_actions(unverified) if a.finding is None]
    there = replace(left, line=found.findings[0].location.line, verified_compilations=None)
    at_the_break = replace(unverified, dynamic=(replace(run, recompiles=(there,)),))
    assert first_actions(at_the_break)[0].effect.endswith("; 1 recompile cause goes with it")
    one_break = replace(at_the_break, findings=found.findings[:1], dynamic=(replace(run, recompiles=(there, left)),))
    assert first_actions(one_break)[0].effect.endswith("; 2 recompile causes go with it")
    assert against(there, at_the_break) == f"it goes with the graph break at model.py:{there.line}"
    assert [a.place for a in first_actions(replace(unverified, findings=()))] == ["model.py:900"]
    of_library = replace(left, guard="args[2] is None", path="/env/lib/python3.11/site-packages/net/layers.py")
    broken = replace(rich, dynamic=(replace(run, recompiles=(of_library,)),), verification=None)
    assert not [a for a in first_actions(broken) if a.finding is None]
    assert [a.place for a in first_actions(replace(broken, findings=()))] == ["net/layers.py:900"]
    shown = proof(replace(found, verification=clean))
    assert shown is not None and shown.after["recompile causes"] == "0"
    assert against(left, replace(found, verification=clean)).startswith("none needed")
    assert against(left, replace(found, verification=None)) == left.remedy
    shared = replace(left, guard="tensor 'x' rank mismatch. expected 2, actual 4", remedy=REMOVE_BREAKS)
    blocks = replace(rich, dynamic=(replace(run, recompiles=(shared,)),), verification=clean)
    assert not [a for a in first_actions(blocks) if a.finding is None]
    assert against(shared, blocks).startswith("none needed")


def test_what_waits_behind_a_break_is_counted(rich: Diagnosis) -> None:
    first, second = rich.findings[:2]
    line = first.location.line
    waits = replace(second, consequence=not_reached_yet(second.consequence, line), status="static-only")
    actions = first_actions(replace(rich, findings=(first, waits), verification=None))
    assert actions[0].effect.endswith("; line 21 comes next, which compiling did not get to")


def test_training_and_evaluation_need_two_compilations(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run = rich.dynamic[0]
    modes = replace(run.recompiles[0], kind="state", path="model.py", line=900, at_limit=False)
    found = replace(rich, dynamic=(replace(run, recompiles=(modes,)),), findings=(), verification=None)
    assert first_actions(found) == ()
    limited = replace(run, recompiles=(replace(modes, at_limit=True),))
    assert [a.place for a in first_actions(replace(found, dynamic=(limited,)))] == ["model.py:900"]
