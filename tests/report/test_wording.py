"""The wording that all reports share."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from graphdoctor.breaks.explanations import WORDS
from graphdoctor.model.consequence import PASSES, Consequence
from graphdoctor.model.findings import Diagnosis, Edit, Fix, Grade, Owner, Status
from graphdoctor.model.labels import Label
from graphdoctor.model.runs import Dropped, FullGraph, Numerics, Outcome, Verification
from graphdoctor.report import wording

EDITS = (Edit("m.py", (1, 1), (1, 2), "x"),)
REFUSED = Fix("safe", "", EDITS, grade="none")


@pytest.mark.parametrize(
    ("names", "table"),
    [
        (Outcome, wording.OUTCOMES),
        (Status, wording.STATUSES),
        (Status, wording.STATUS_LABELS),
        (Owner, wording.OWNERS),
        (Label, wording.LABELS),
        (Grade, wording.GRADES),
    ],
)
def test_every_value_of_the_model_has_a_word(names: object, table: dict[str, str]) -> None:
    assert set(get_args(names)) == set(table)


def test_status_names_ids_events_and_owner(rich: Diagnosis) -> None:
    printed, branch, refuted, not_reached, library, _ = rich.findings
    assert wording.status(printed) == "predicted, and seen in the run (GB0059)"
    assert wording.status(branch).endswith("(GB0170); the function runs in eager as a whole")
    assert wording.status(refuted) == "predicted, but the line ran and nothing broke"
    passes = replace(refuted, consequence=PASSES)
    assert wording.status(passes) == "predicted, but with the fixes applied the line ran and nothing broke"
    assert wording.status(not_reached) == "predicted; compiled code did not come to the line"
    assert wording.status(library) == "seen in the run, not predicted (GB0007); in libraries"


def test_what_only_fullgraph_shows_is_called_so(rich: Diagnosis) -> None:
    fails = replace(rich.findings[0], events=0)
    assert (
        wording.status(fails)
        == "predicted, and seen in the run: fullgraph=True gets here and fails; by default nothing breaks here"
    )
    assert [wording.status_label(f) for f in (rich.findings[0], fails)] == [
        "predicted and seen",
        "fullgraph fails here",
    ]


def test_only_a_graded_fix_is_called_verified(rich: Diagnosis) -> None:
    assert wording.fix_kind(Fix("safe", "", EDITS)) == "safe; not verified"
    assert wording.fix_kind(Fix("unsafe", "", EDITS, grade="general")).startswith(
        "unsafe: may change behaviour; its line compiles"
    )
    in_vain = Fix("safe", "", EDITS, grade="no-effect")
    assert wording.fix_kind(in_vain) == "safe; tried in a run, which shows no effect"
    (finding,) = (replace(f, fix=in_vain) for f in rich.findings[:1])
    assert wording.fix_label(finding) == "safe fix, no effect seen"
    hidden = replace(finding, fact="`print()`", consequence=Consequence("later", line=28))
    assert wording.fix_label(hidden) == "safe fix, waits for line 28"
    # What was not tried, because it overlaps the fix of the same cause, waits as well.
    untried = replace(hidden, fix=Fix("safe", "", EDITS))
    assert wording.fix_label(untried) == "safe fix, waits for line 28" and wording.is_idle(untried)
    edit = Edit("m.py", (1, 1), (1, 1), "if not torch.compiler.is_compiling():\n    print(x)\n")
    assert wording.fix_label(replace(finding, fix=Fix("safe", "", (edit,)))) == "safe fix, skips it under compile"
    verified = Fix("unsafe", "", EDITS, grade="general", verified=True)
    assert wording.fix_kind(verified) == "verified; its line compiles with the default settings"
    assert "verified" not in wording.fix_kind(Fix("manual", "")) and "verified" not in wording.fix_kind(REFUSED)


def test_what_is_offered_is_counted(rich: Diagnosis) -> None:
    (finding, *_), manual = rich.findings, Fix("manual", "")
    fixes = [Fix("safe", "", EDITS), Fix("unsafe", "", EDITS, verified=True), REFUSED, manual]
    findings = [replace(finding, fix=fix) for fix in fixes]
    assert wording.offered(findings) == "2 automatic fixes"
    assert (
        wording.offered([replace(finding, fix=Fix("unsafe", "", EDITS))])
        == "1 automatic fix (1 only with --unsafe-fixes)"
    )
    assert wording.offered([replace(findings[0], status="refuted"), replace(findings[0], owner="third-party")]) == ""
    assert wording.offered(findings[2:]) == ""


def test_without_any_fix_the_numbers_are_those_of_the_code_as_it_is() -> None:
    dropped = Verification((), 4, 3, False, Numerics(True, 0.0, ""), "none", "No fix is offered: 1 fix was tried.")
    dropped = replace(dropped, dropped=(Dropped("f", "it is wrong"),))
    assert wording.verification(dropped, ()) == (
        "no fix is left, all were dropped; the code as it is: 4 graphs, 3 graph breaks, fullgraph=True fails"
    )
    assert wording.verification_detail(dropped) == "No fix is offered: 1 fix was tried."


def test_everything_does_not_compile_where_breaks_are_left() -> None:
    verified = Verification(("f",), 1, 0, True, Numerics(True, 0.0, ""), "setup-required", "Before: 2 graph breaks.")
    assert wording.verification_detail(verified) == (
        "Everything compiles, with a setting of torch that is no default. Before: 2 graph breaks."
    )
    assert wording.verification_detail(replace(verified, breaks=1)) == (
        "Everything compiles with fullgraph=True; without it 1 graph break is left. Before: 2 graph breaks."
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "unknown"), (0.0, "0 %"), (0.001, "1 %"), (0.834, "83 %"), (0.999, "99 %"), (1.0, "100 %")],
)
def test_share_is_never_rounded_to_all_or_nothing(value: float | None, text: str) -> None:
    assert wording.share(value) == text


@pytest.mark.parametrize(
    ("verdict", "text"),
    [
        (FullGraph(None), "not tried"),
        (FullGraph(None, "timeout"), "not tried: timeout"),
        (FullGraph(True), "passes"),
        (FullGraph(False), "fails"),
        (FullGraph(False, "reason", "a.py", 4), "fails at a.py:4: reason"),
    ],
)
def test_fullgraph(verdict: FullGraph, text: str) -> None:
    assert wording.fullgraph(verdict) == text


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (None, "not compared"),
        (Numerics(None, None, "", "outputs are not tensors"), "not compared: outputs are not tensors"),
        (Numerics(True, 0.0, "rtol 1e-5"), "equal (largest difference 0, tolerance rtol 1e-5)"),
        (Numerics(False, 0.5, "", "in output 1"), "differ (largest difference 0.5, in output 1)"),
    ],
)
def test_numerics(result: Numerics | None, text: str) -> None:
    assert wording.numerics(result) == text


def test_counts_of_a_run_and_of_one_that_failed(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    measured, stopped = rich.dynamic
    assert wording.run_counts(measured) == "4 graphs, 3 graph breaks (2 in your code), 83 % of the operators compiled"
    assert wording.run_counts(stopped) == "stopped at the time limit: stopped after 120 s"
    assert wording.run_counts(replace(measured, breaks=(), compiled_share=None)) == "4 graphs, 0 graph breaks"
    inference = replace(measured, breaks=tuple(replace(b, with_gradients=True) for b in measured.breaks))
    assert "3 graph breaks (2 in your code, none under torch.no_grad())," in wording.run_counts(inference)
    first, *others = inference.breaks
    partly = replace(inference, breaks=(replace(first, with_gradients=False), *others))
    assert "3 graph breaks (2 in your code, 1 under torch.no_grad())," in wording.run_counts(partly)


def test_a_variant_that_raised_is_named(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run = replace(rich.dynamic[0], detail="KeyError in a variant: 'v'")
    assert wording.run_counts(run).endswith(
        "83 % of the operators compiled; recompiles not counted: KeyError in a variant: 'v'"
    )


@pytest.mark.parametrize(("tried", "offered"), [(None, True), (2, True), (8, False), (9, False)])
def test_a_remedy_that_was_measured_to_save_nothing_is_not_offered(
    rich: Diagnosis, tried: int | None, offered: bool
) -> None:
    assert rich.dynamic is not None
    recompile = replace(rich.dynamic[0].recompiles[0], verified_compilations=tried)
    assert (wording.remedy(recompile) == recompile.remedy) is offered


def test_a_recompile_that_two_runs_met_is_one(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run = rich.dynamic[0]
    met = wording.recompiles([run, replace(run, mode="train")])
    assert met == {run.recompiles[0]: "Net, eval and train mode, on cpu"}


def test_recompiles_of_one_function_with_one_cause_and_one_advice_are_one(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run, found = rich.dynamic[0], rich.dynamic[0].recompiles[0]
    once = replace(found, cause="the length of xs is no longer 2", kind="length", name="xs", verified_compilations=None)
    more = replace(once, cause="the length of xs is no longer 4", compilations=found.compilations + 1, varied="calls")
    both = [replace(run, recompiles=(once, more)), replace(run, mode="train", recompiles=(once,))]
    assert wording.recompiles(both) == {more: "Net, eval and train mode, on cpu"}
    for other in (replace(more, line=1), replace(more, remedy="other"), replace(more, verified_compilations=1)):
        assert list(wording.recompiles([replace(run, recompiles=(once, other))])) == [once, other]
    unnamed = replace(once, name=None), replace(more, name=None)
    assert list(wording.recompiles([replace(run, recompiles=unnamed)])) == list(unnamed)


def test_plurals() -> None:
    assert wording.plural(1, "graph") == "1 graph"
    assert wording.plural(1000, "graph") == "1,000 graphs"
    assert wording.plural(2, "fix", "fixes") == "2 fixes"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("plain", [("plain", False)]),
        ("call `f(x)` twice", [("call ", False), ("f(x)", True), (" twice", False)]),
        ("`a``b`", [("a", True), ("b", True)]),
        ("one ` alone", [("one ` alone", False)]),
        ("`a` and ` alone", [("a", True), (" and ` alone", False)]),
        ("", []),
    ],
)
def test_code_stands_between_backticks(text: str, parts: list[tuple[str, bool]]) -> None:
    assert wording.quoted(text) == parts


def test_gb_link() -> None:
    assert wording.gb_link("GB0059") == "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html"


def test_the_title_of_a_page_is_brief_about_ranks(rich: Diagnosis) -> None:
    assert wording.title(rich.summary) == rich.summary.headline
    uneven = (
        "rank 1 alone compiles a.py:3 again because the size of x changed (2 compilations), and the other ranks wait for "
        "it at the next collective; what helps on every rank: torch.compile(dynamic=True)"
    )
    summary = replace(rich.summary, uneven=uneven, headline=f"Not ready: {uneven}; 1 graph break in your code")
    assert (
        wording.title(summary)
        == "Not ready: rank 1 alone compiles a.py:3 again because the size of x changed; 1 graph break in your code"
    )
    uneven = "a.py:4 breaks the graph (GB0124) on rank 1 only (and 2 other places); take the same path on every rank"
    summary = replace(summary, uneven=uneven, headline=f"Not ready: {uneven}")
    assert wording.title(summary) == "Not ready: a.py:4 breaks the graph on rank 1 only"


def test_settings_of_libraries_can_be_pasted(rich: Diagnosis) -> None:
    line = "torch._dynamo.config.capture_scalar_outputs = True"
    library = replace(rich.findings[4], suggestion=f"Keep it a tensor, or set `{line}`.")
    assert wording.settings([library, library, replace(rich.findings[0], suggestion=library.suggestion)]) == [
        "import torch",
        line,
    ]
    # Of every suggested setting the whole line is code.
    hints = [words.hint for every in WORDS.values() for words in every if "torch._dynamo.config." in words.hint]
    found = [wording.settings([replace(library, suggestion=hint)]) for hint in hints]
    assert len(found) > 3 and all(lines for lines in found)


def test_functions_that_were_given_up_are_named(rich: Diagnosis) -> None:
    found = replace(rich.findings[1], dropped=("Model.forward", "Net.forward"))
    assert wording.status(found).endswith("; Model.forward and Net.forward run in eager as a whole")


def test_the_meaning_says_where_fullgraph_fails_and_that_it_gets_further(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run = rich.dynamic[0]
    (text,) = {wording.meaning(rich.summary, [run])}
    assert text == (
        "torch.compile runs this in 4 graphs with eager code around them, 83 % of its operators compiled, and the outputs "
        "are those of eager. fullgraph=True raises an error at model.py:21."
    )
    assert " in 1 graph with eager code around it, " in wording.meaning(replace(rich.summary, graphs=1), [run])
    further = replace(run, fullgraph=FullGraph(False, "why", "model.py", 22))
    assert wording.meaning(rich.summary, [further]).endswith(
        "fullgraph=True gets further, for it records more than the default, and raises an error at model.py:22."
    )
