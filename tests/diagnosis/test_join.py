"""Static and dynamic results, brought together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graphdoctor.breaks.explanations import IN_EAGER
from graphdoctor.diagnosis.join import OF_MANY_CAUSES, RuleText, join, rule_texts
from graphdoctor.lint import catalog
from graphdoctor.model.consequence import SPLIT, Block, Consequence
from graphdoctor.model.findings import Guarded, Owner
from graphdoctor.model.runs import FullGraph, Numerics, Recompile, Sweep

RULES = {"GB0124": RuleText("GD211", "item-call", "waits", "keep the tensor")}


def test_without_runs_nothing_changes(build: Any) -> None:
    finding = build.finding()
    assert join([finding], (), RULES) == (finding,)


def test_a_break_in_the_range_confirms(build: Any) -> None:
    runs = [build.run(build.brk(events=2)), build.run(build.brk(events=1, whole_frame=True), mode="train")]
    (found,) = join([build.finding(gb_ids=("GB0059", "GB0001"))], runs, RULES)
    assert (found.status, found.confidence, found.events) == ("confirmed", "certain", 3)
    assert found.gb_ids == ("GB0059",) and found.whole_frame


def test_exact_start_wins_then_the_smallest_range_then_the_id(build: Any) -> None:
    wide = build.finding(column=1, end=(5, 40))
    exact = build.finding(column=5, end=(5, 30))
    small = build.finding(column=4, end=(5, 12))
    states = [f.status for f in join([wide, exact, small], [build.run(build.brk(column=5))], RULES)]
    assert states == ["refuted", "confirmed", "refuted"]
    states = [f.status for f in join([wide, exact, small], [build.run(build.brk(column=6))], RULES)]
    assert states == ["refuted", "refuted", "confirmed"]
    other = build.finding(rule="GD211", gb_ids=("GB0124",))
    joined = join([other, build.finding()], [build.run(build.brk())], RULES)
    # After a break for another reason the rest of the function may never have been traced.
    assert [f.status for f in joined] == ["static-only", "confirmed"]


def test_a_break_that_comes_with_sizes_that_vary_is_not_refuted_by_one_size(build: Any) -> None:
    finding = build.finding(rule="GD219", severity="warning", gb_ids=("GB0112",))
    for run, state in ((build.run(), ("static-only", "warning")), (build.run(build.brk()), ("confirmed", "error"))):
        (found,) = join([finding], [run], RULES, varying=frozenset({"GD219"}))
        assert (found.status, found.severity) == state


def test_a_break_of_calls_with_other_inputs_confirms_and_is_told_from_those_of_the_sample(build: Any) -> None:
    finding = build.finding(rule="GD219", severity="warning", gb_ids=("GB0112",))
    run = build.run(sweeps=(Sweep("batch 4, 5", True, 2, 2, breaks=(build.brk(), build.brk(9), build.brk(12))),))
    other = build.run(build.brk(12), mode="train")
    found, sample, varied = join([finding], [run, other], RULES, varying=frozenset({"GD219"}))
    assert (found.status, found.severity) == ("confirmed", "error")
    assert (sample.location.line, sample.message) == (12, "why")
    assert (varied.location.line, varied.message) == (9, "why (only in calls with other inputs)")


@pytest.mark.parametrize(
    ("verdict", "status"),
    [
        pytest.param(FullGraph(True), "refuted", id="passes"),
        pytest.param(FullGraph(False, "UserError", "m.py", 5), "confirmed", id="fails-there"),
        pytest.param(FullGraph(False, "UserError", "m.py", 4), "static-only", id="fails-before"),
        pytest.param(FullGraph(None), "static-only", id="not-tried"),
    ],
)
def test_what_breaks_with_fullgraph_only_is_judged_by_it(build: Any, verdict: FullGraph, status: str) -> None:
    finding = build.finding(rule="GD217", severity="warning", gb_ids=("GB0124",))
    (found,) = join([finding], [build.run(fullgraph=verdict)], RULES, frozenset({"GD217"}))
    assert found.status == status
    # What makes the verdict is no mere warning.
    assert (found.severity == "error") is (status == "confirmed")


def test_multi_line_ranges_and_inner_columns(build: Any) -> None:
    (found,) = join([build.finding(4, 9, end=(6, 3))], [build.run(build.brk(5, 1))], RULES)
    assert found.status == "confirmed"


def test_without_columns_the_id_decides_and_neighbours_are_not_refuted(build: Any) -> None:
    first, second = build.finding(column=1, rule="GD211", gb_ids=("GB0124",)), build.finding(column=20)
    joined = join([first, second], [build.run(build.brk(column=None))], RULES)
    assert [f.status for f in joined] == ["static-only", "confirmed"]


def test_a_jump_left_of_the_condition_needs_the_expected_id(build: Any) -> None:
    condition = build.finding(column=8, rule="GD201", gb_ids=("GB0170",))
    (found,) = join([condition], [build.run(build.brk(column=5, gb_id="GB0170"))], RULES)
    assert found.status == "confirmed"
    joined = join([condition], [build.run(build.brk(column=5, gb_id="GB0059"))], RULES)
    assert [f.status for f in joined] == ["static-only", "dynamic-only"]


def test_a_condition_in_an_argument_is_not_the_cause_that_the_call_has(build: Any) -> None:
    call = build.finding(column=5, end=(5, 40), rule="GD218", gb_ids=("GB0124",))
    condition = build.finding(column=22, end=(5, 28), rule="GD201", gb_ids=("GB0170",))
    jump, other = build.brk(column=15, gb_id="GB0170"), build.brk(column=15, gb_id="GB0007")
    assert [f.status for f in join([call, condition], [build.run(jump)], RULES)] == ["static-only", "confirmed"]
    assert [f.status for f in join([call, condition], [build.run(other)], RULES)] == ["confirmed", "static-only"]


def test_a_jump_has_the_line_on_which_its_condition_begins(build: Any) -> None:
    condition = build.finding(2, 8, rule="GD201", gb_ids=("GB0170",))
    text = "y = a \\\n    if x.any() else b\n"
    for gb_id, status in (("GB0170", ["confirmed"]), ("GB0059", ["static-only", "dynamic-only"])):
        joined = join([condition], [build.run(build.brk(1, 5, gb_id=gb_id))], RULES, texts={"m.py": text})
        assert [f.status for f in joined] == status


@pytest.mark.parametrize("gb_id", ["GB7000", "GB0066", None])
def test_ids_that_hide_the_cause_match_any_rule_and_keep_its_ids(build: Any, gb_id: str | None) -> None:
    (found,) = join([build.finding()], [build.run(build.brk(gb_id=gb_id))], RULES)
    assert found.status == "confirmed" and found.gb_ids == ("GB0059",)


@pytest.mark.parametrize("owner", ["third-party", "torch"])
def test_a_line_of_the_user_that_leads_to_a_break_in_a_library_is_mended_by_the_user(build: Any, owner: Owner) -> None:
    stack = (build.frame("m.py", 5, "forward"), build.frame("/lib/tokens.py", 9, "__getattr__"))
    (found,) = join([build.finding()], [build.run(build.brk(stack=stack, owner=owner))], RULES)
    assert found.status == "confirmed" and found.owner == "own"


def test_a_caller_is_joined_only_when_its_rule_expects_the_id(build: Any) -> None:
    stack = (build.frame("m.py", 5, "forward"), build.frame("/lib/logging.py", 9, "warning"))
    inner = build.brk(9, 1, "GB0059", path="/lib/logging.py", stack=stack, owner="third-party")
    (found,) = join([build.finding()], [build.run(inner)], RULES)
    assert found.status == "confirmed" and found.owner == "third-party"
    other = build.brk(9, 1, "GB0124", path="/lib/logging.py", stack=stack, owner="third-party")
    assert [f.status for f in join([build.finding()], [build.run(other)], RULES)] == ["refuted", "dynamic-only"]


def test_unexpected_breaks_become_findings(build: Any) -> None:
    runs = [build.run(build.brk(7, 3, "GB0124", hints=("drop it",)), build.brk(8, None, None, owner="third-party"))]
    owned, unknown = join([], runs, RULES)
    assert (owned.rule, owned.name, owned.status, owned.severity) == ("GD211", "item-call", "dynamic-only", "error")
    assert (owned.why, owned.suggestion, owned.message) == ("waits", "drop it", "why")
    assert (owned.location.line, owned.location.column) == (7, 3)
    assert (unknown.rule, unknown.severity, unknown.location.column) == ("GD000", "warning", 1)
    assert unknown.gb_ids == () and unknown.why.startswith("The graph is split here")


def test_a_break_that_raises_splits_nothing_and_needs_no_look_at_eager(build: Any) -> None:
    brk = build.brk(13, gb_id="GB4315", hints=(IN_EAGER,))
    where = {"outcome": "raised", "raised_at": build.frame("m.py", 13, "f"), "graphs": 0}
    raises = build.run(brk, numerics=Numerics(None, None, "1e-5"), **where)
    (found,) = join([], [raises], {})
    assert "ends the compiled call" in found.why and found.suggestion.startswith("The same inputs pass in eager")
    (ended,) = join([], [build.run(replace(brk, raises=True))], {})
    assert ended.why == found.why and ended.suggestion == IN_EAGER
    (split,) = join([], [build.run(brk)], {})
    assert split.why.startswith("The graph is split here") and split.suggestion == IN_EAGER


@pytest.mark.parametrize("column", [3, None])
@pytest.mark.parametrize(
    ("rule", "gb_id", "status"),
    [("GD514", "GB4315", "confirmed"), ("GD514", "GB0124", ""), ("GD601", "GB4315", ""), ("GD703", "GB4315", "")],
)
def test_an_operator_that_fails_confirms_what_is_said_to_raise(
    build: Any, rule: str, gb_id: str, status: str, column: int | None
) -> None:
    finding = replace(build.finding(), rule=rule, gb_ids=())
    place = finding.location
    brk = build.brk(place.line, column and place.column, gb_id)
    found = join([finding], [build.run(brk)], {})
    assert [f.status for f in found] == ([status] if status else ["static-only", "dynamic-only"])


def test_refuted_needs_a_line_that_ran_and_was_traced_in_every_mode(build: Any) -> None:
    finding = build.finding()

    def status(*runs: Any) -> str:
        return next(f.status for f in join([finding], runs, RULES) if f.location == finding.location)

    assert status(build.run()) == "refuted"
    assert join([finding], [build.run()], RULES)[0].severity == "info"
    assert status(build.run(), build.run(lines={1})) == "static-only"
    assert status(build.run(lines={1}), build.run(lines={2})) == "not-reached"
    assert status(build.run(graphs=0)) == "static-only"
    assert status(build.run(outcome="raised")) == "static-only"
    assert status(build.run(executed={})) == "static-only"


def test_an_operand_that_its_line_may_run_without_is_not_refuted(build: Any) -> None:
    finding = build.finding(1, 13, (1, 21))
    for text, status in (("n = size or int(x.item())", "static-only"), ("n = float( int(x.item()))", "refuted")):
        (joined,) = join([finding], [build.run()], RULES, texts={"m.py": text})
        assert joined.status == status


def test_lines_of_a_dropped_frame_were_never_traced(build: Any) -> None:
    loop = build.brk(3, 1, "GB7000", whole_frame=True)
    joined = join([build.finding()], [build.run(loop)], RULES)
    assert [f.status for f in joined] == ["static-only", "dynamic-only"]
    # What was predicted after the break is a condition now.
    assert joined[0].message.endswith("(once compiling gets past line 3)")
    # With fullgraph=True compiling got that far.
    failed = replace(build.run(loop), fullgraph=FullGraph(False, "why", "m.py", joined[0].location.line))
    assert join([build.finding()], [failed], RULES)[0].message == build.finding().message


def test_a_line_of_a_dropped_frame_may_have_run_where_only_traced_lines_are_known(build: Any) -> None:
    """In eager: the run says which lines Dynamo traced, and of a dropped function it traced no more."""
    loop = build.brk(3, 1, "GB7000", whole_frame=True)
    finding = build.finding()

    def status(*breaks: Any, **fields: Any) -> str:
        return join([finding], [build.run(*breaks, lines={3}, **fields)], RULES)[0].status

    assert status(loop, traced_only=True) == "static-only"
    assert status(build.brk(3, 1, "GB0014"), traced_only=True) == "static-only"
    assert status(loop) == "not-reached"
    assert status(build.brk(3, 1), traced_only=True) == "not-reached"
    # A call in which a graph broke runs as a function of its own, which Dynamo may leave alone.
    called = replace(build.brk(3, 1), stack=(build.frame("m.py", 9, "step"), build.frame("m.py", 3, "f")))
    assert status(called, traced_only=True) == "static-only"


def test_what_was_only_possible_is_an_error_once_it_was_seen(build: Any) -> None:
    unsure = replace(build.finding(), confidence="possible", severity="warning")
    (found,) = join([unsure], [build.run(build.brk())], RULES)
    assert (found.confidence, found.severity) == ("certain", "error")
    library = build.brk(owner="third-party")
    assert join([unsure], [build.run(library)], RULES)[0].severity == "warning"


def test_what_follows_a_recurrent_layer_in_its_function_was_never_traced(build: Any) -> None:
    rest = Consequence("rest", "Net.forward")
    first, second = (replace(build.finding(line, 1, gb_ids=("GB0014",)), consequence=rest) for line in (3, 5))
    joined = join([first, second], [build.run(build.brk(3, 1, "GB0014"))], RULES)
    assert [f.status for f in joined] == ["confirmed", "static-only"]
    assert joined[1].message.endswith(": a graph break once compiling gets past line 3")


def test_the_other_arm_of_a_condition_does_not_wait_for_the_one_that_broke(build: Any) -> None:
    text = "def f(x, way):\n    if way:\n        print(x)\n    elif x.ndim:\n        print(x)\n    print(x)\n"
    other, after = (replace(build.finding(line, 9, function="f"), fact="print()", consequence=SPLIT) for line in (5, 6))
    brk = build.brk(3, 9, function="f", whole_frame=True, dropped=(build.frame("m.py", 3, "f"),))
    joined = join([other, after], [build.run(brk, lines={1, 2, 3, 6})], RULES, texts={"m.py": text})
    assert [(f.status, f.message) for f in joined[:2]] == [
        ("not-reached", "print(): this splits the graph"),
        ("static-only", "print(): a graph break once compiling gets past line 3"),
    ]


def test_where_nothing_was_compiled_nothing_was_split(build: Any) -> None:
    finding = replace(build.finding(), fact="print()", consequence=SPLIT)
    messages = [
        join([finding], [run], RULES)[0].message for run in (build.run(outcome="raised", graphs=0), build.run())
    ]
    assert messages == ["print(): would break the graph", finding.message]
    elsewhere = build.brk(3, 1, "GB7000", whole_frame=True, function="Other.call")
    joined = join([build.finding()], [build.run(elsewhere)], RULES)
    assert [f.status for f in joined] == ["refuted", "dynamic-only"]


def test_rules_without_ids_are_left_alone(build: Any) -> None:
    usage = build.finding(rule="GD601", gb_ids=())
    joined = join([usage], [build.run(build.brk())], RULES)
    assert [f.status for f in joined] == ["static-only", "dynamic-only"]


def test_a_recompile_at_its_line_confirms_a_finding_about_recompiles(build: Any) -> None:
    counter = build.finding(rule="GD701", gb_ids=())
    place = counter.location
    run = build.run()
    there, elsewhere = (Recompile("", "", None, None, place.path, line, 2) for line in (place.line, place.line + 9))
    assert [f.status for f in join([counter], [replace(run, recompiles=(there,))], RULES)] == ["confirmed"]
    assert [f.status for f in join([counter], [replace(run, recompiles=(elsewhere,))], RULES)] == ["static-only"]


@pytest.mark.parametrize(
    ("kind", "path", "name", "status"),
    [
        ("value", "net.py", "scale", "confirmed"),
        ("attribute", "net.py", "scale", "confirmed"),
        ("size", "net.py", "scale", "static-only"),
        ("value", "other.py", "scale", "static-only"),
        ("value", "net.py", "rate", "static-only"),
        ("value", "net.py", None, "static-only"),
    ],
)
def test_a_recompile_for_what_a_finding_says_changes_confirms_it(
    build: Any, kind: str, path: str, name: str | None, status: str
) -> None:
    number = build.finding(rule="GD704", gb_ids=(), guarded=Guarded("net.py", "scale"))
    recompile = Recompile("", "", None, None, path, 90, 2, kind=kind, name=name)
    assert [f.status for f in join([number], [build.run(recompiles=(recompile,))], RULES)] == [status]


def test_no_rule_owns_an_id_that_many_causes_end_in() -> None:
    owned = rule_texts(catalog.rules())
    expected = {gb_id for rule in catalog.rules() for gb_id in rule.gb_ids}
    assert owned["GB0014"].name == "rnn-module"
    assert expected >= OF_MANY_CAUSES
    assert not OF_MANY_CAUSES & set(owned)


def test_a_caller_with_the_loop_is_what_was_given_up(build: Any) -> None:
    dropped = (build.frame("m.py", 8, "Model.forward"),)
    brk = build.brk(5, 5, function="Block.forward", whole_frame=True, dropped=dropped)
    predicted = replace(
        build.finding(function="Block.forward"),
        fact="print()",
        consequence=Consequence("whole", "Block.forward", Block("for")),
    )
    later = replace(build.finding(9, function="Model.forward"), fact="print()", consequence=SPLIT)
    found, waiting = join([predicted, later], [build.run(brk)], RULES)
    assert (found.message, found.dropped) == ("print(): `Model.forward` runs uncompiled as a whole", ("Model.forward",))
    # What stands after the call in the caller was never traced.
    assert (waiting.status, waiting.message) == (
        "static-only",
        "print(): a graph break once compiling gets past line 5",
    )


def test_the_part_before_an_earlier_break_is_not_said_to_run_uncompiled(build: Any) -> None:
    dropped = (build.frame("m.py", 5, "Net.forward"),)
    brk = build.brk(5, 5, function="Net.forward", whole_frame=True, rest=True, dropped=dropped)
    layer = replace(build.finding(), fact="a layer", consequence=Consequence("rest", "Net.forward"))
    loop = replace(build.finding(), fact="print()", consequence=Consequence("whole", "Net.forward"))

    def said(finding: Any, graphs: int) -> tuple[str, bool]:
        (found,) = join([finding], [build.run(brk, graphs=graphs)], RULES)
        return found.message, found.whole_frame

    assert said(layer, 1) == ("a layer: `Net.forward` runs uncompiled from here on", False)
    assert said(loop, 1) == ("print(): what an earlier graph break left of `Net.forward` runs uncompiled", False)
    # Without a graph there is nothing before it that is compiled.
    assert said(layer, 0) == ("a layer: `Net.forward` runs uncompiled as a whole", True)


@pytest.mark.parametrize(
    ("names", "said"),
    [(("convert",), "this splits the graph"), (("Net.forward", "convert"), "`Net.forward` runs uncompiled as a whole")],
)
def test_a_function_of_a_library_that_is_given_up_splits_the_one_that_calls_it(
    build: Any, names: tuple[str, ...], said: str
) -> None:
    stack = (build.frame("m.py", 5, "Net.forward"), build.frame("/site-packages/lib.py", 7, "convert"))
    dropped = tuple(frame for frame in stack if frame.function in names)
    inner = build.brk(5, 5, owner="third-party", stack=stack, dropped=dropped, whole_frame=True)
    call = replace(build.finding(), fact="lib.f(x)", consequence=SPLIT)
    (found,) = join([call], [build.run(inner)], RULES)
    assert found.message == f"lib.f(x): {said}"


def test_a_finding_that_explains_several_breaks_says_how_many(build: Any) -> None:
    """The verdict counts each place."""
    library = [build.frame("/site-packages/lib.py", line, "f") for line in (7, 9)]
    breaks = [build.brk(5, 5, owner="third-party", stack=(inner,)) for inner in library]
    call = replace(build.finding(), fact="lib.f(x)", consequence=SPLIT)
    (found,) = join([call], [build.run(*breaks)], RULES)
    assert found.message == "lib.f(x): this splits the graph 2 times"
    (once,) = join([call], [build.run(breaks[0]), build.run(breaks[0], mode="train")], RULES)
    assert once.message == call.message


def test_an_unexplained_break_names_the_explained_one_on_its_line(build: Any) -> None:
    """``math.isfinite(x.item())``: after the break of ``item`` the number is a symbol, which ``isfinite`` cannot take."""
    known, unknown = build.brk(), build.brk(5, 1, "GB0208")
    alone = join([], [build.run(unknown)], {})[-1]
    assert alone.rule == "GD000" and "GD101" not in alone.suggestion
    confirmed, beside = join([build.finding()], [build.run(known, unknown)], {})
    assert (confirmed.status, beside.rule) == ("confirmed", "GD000")
    assert beside.suggestion.startswith("Remove the break of GD101 on this line first: this one may go with it.")
    assert beside.suggestion.endswith(alone.suggestion)


def test_a_comprehension_that_is_compiled_alone_names_the_break_for_which_it_is(build: Any) -> None:
    around = (build.frame("m.py", 5, "Net.forward"),)
    inner = (build.frame("m.py", 9, "Net.forward.<listcomp>"),)
    known = build.brk(dropped=around, whole_frame=True)
    general = "Remove the graph break in the function first: this one is usually gone with it."
    unknown = build.brk(9, 1, "GB4347", dropped=inner, whole_frame=True, hints=(general,))
    _, beside = join([build.finding()], [build.run(known, unknown)], {})
    assert beside.suggestion == "Remove the break of GD101 at line 5 first: this one may go with it."
    other = build.brk(9, 1, "GB4347", dropped=(build.frame("m.py", 9, "other.<listcomp>"),), whole_frame=True)
    _, apart = join([build.finding()], [build.run(known, other)], {})
    assert "GD101" not in apart.suggestion


def test_behind_a_comprehension_that_was_given_up_the_function_goes_on(build: Any) -> None:
    text = "def forward(self, x):\n    y = [\n        print(i) or print(x)\n        for i in x\n    ]\n    print(y)\n"
    inside = (build.frame("m.py", 3, "Net.forward.<listcomp>"),)
    brk = build.brk(3, 9, whole_frame=True, dropped=inside)
    predicted = [
        replace(build.finding(*place), fact="print()", consequence=SPLIT) for place in ((3, 9), (3, 21), (6, 5))
    ]
    alone, beside, behind = join(predicted, [build.run(brk)], RULES, texts={"m.py": text})
    assert alone.message == "print(): `Net.forward.<listcomp>` runs uncompiled as a whole"
    # What stands beside it in the comprehension was never traced.
    assert (beside.status, behind.status) == ("static-only", "refuted")
