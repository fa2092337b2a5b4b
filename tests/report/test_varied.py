from dataclasses import replace

from graphdoctor.model.findings import Diagnosis
from graphdoctor.model.runs import Break, DynamicRun, Recompile, Sweep, SweepCall, TriedRemedy
from graphdoctor.report import varied, wording
from graphdoctor.report.html import page
from graphdoctor.report.markdown import document
from graphdoctor.report.text import terminal
from graphdoctor.report.text.look import Look

SWEEP = Sweep("batch 4, 5, 6, 1", True, 5, 3, "expected: size 1 is compiled by itself")
RECOMPILE = Recompile(
    "the attribute self.step is no longer 0",
    "self.step == 0",
    None,
    None,
    "model.py",
    17,
    8,
    "a buffer",
    1,
    limit=8,
    at_limit=True,
    tried=(TriedRemedy("`mark`", None, "it breaks the graph"), TriedRemedy("a buffer", 1), TriedRemedy("other", 2)),
)


VERBOSE = Look(verbose=True)


def test_a_sweep_in_words() -> None:
    assert varied.sweep(SWEEP) == (
        "repeated with: batch 4, 5, 6, 1; 3 compilations in 5 calls; expected: size 1 is compiled by itself"
    )
    asked = replace(SWEEP, varied="x:0=4,5", automatic=False, detail="", verified_compilations=1)
    assert varied.sweep(asked) == (
        "varied: x:0=4,5; 3 compilations in 5 calls, 1 with all suggested fixes together (measured)"
    )
    layers = replace(SWEEP, detail="", steps=(SweepCall(2), SweepCall(0), SweepCall(0)))
    assert varied.sweep(layers).endswith("; 3 compilations in 5 calls, all in the first")
    twice = (Break("net.py", 7, 5, "f", None, None, "why"), Break("net.py", 7, 9, "f", None, None, "why"))
    broken = replace(SWEEP, breaks=twice)
    assert "3 compilations in 5 calls; breaks the graph at net.py:7; expected" in varied.sweep(broken)
    run = DynamicRun("f", "eval", "cpu", "ok", graphs=1, sweeps=(broken,))
    assert wording.run_counts(run) == "1 graph, 0 graph breaks (2 more with other inputs)"


def test_what_was_tried_beside_the_remedy() -> None:
    assert varied.tried(RECOMPILE) == ["`mark`: it breaks the graph", "other: 2 compilations"]


def test_the_distance_to_the_recompile_limit() -> None:
    at_limit = wording.recompile_effect(RECOMPILE)
    assert at_limit.startswith("8 compilations, the recompile limit (what differs again runs uncompiled")
    assert at_limit.endswith("1 with the suggested fix (measured)")
    one_of_two = wording.recompile_effect(replace(RECOMPILE, at_limit=False, caused=1, verified_compilations=None))
    assert one_of_two.startswith("8 compilations, 1 for this cause")
    every = wording.recompile_effect(replace(RECOMPILE, at_limit=False, caused=7, verified_compilations=None))
    assert "for this cause" not in every
    below = replace(RECOMPILE, compilations=5, at_limit=False, verified_compilations=None)
    assert wording.recompile_effect(below) == "5 compilations of at most 8 (the recompile limit)"
    assert wording.recompile_effect(replace(below, compilations=2)) == "2 compilations"


def test_a_mode_without_other_sizes_is_named(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    tried = replace(rich.dynamic[0], mode="eval", outcome="ok", sweeps=(SWEEP,), recompiles=())
    other = replace(tried, mode="train", sweeps=())
    said = "Functions were compiled again for new sizes only, as with any model."
    assert varied.outcome((tried, other)) == f"{said} Train mode was not tried."
    assert varied.outcome((tried, replace(other, sweeps=(SWEEP,)))) == said
    assert varied.outcome((other,)) == "No function was compiled again."


def test_all_reports_show_sweeps_and_the_text_what_was_tried(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run = replace(rich.dynamic[0], sweeps=(SWEEP,), recompiles=(RECOMPILE,))
    shown = replace(rich, dynamic=(run,))
    for rendered in (terminal.render(shown, VERBOSE), document.render(shown), page.render(shown)):
        assert "size 1 is compiled by itself" in " ".join(rendered.split())
    assert "= tried: `mark`: it breaks the graph" in terminal.render(shown, VERBOSE)


def test_what_other_inputs_showed_is_not_said_of_those_that_were_not_tried(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run = replace(rich.dynamic[0], recompiles=(), sweeps=(replace(SWEEP, compilations=1),))
    assert varied.outcome([run]) == "No function was compiled again."
    assert varied.outcome([replace(run, sweeps=(SWEEP,))]).startswith(
        "Functions were compiled again for new sizes only"
    )
    stopped = replace(run, left_out=("counting recompiles (eval): stopped, no result after 9 s",))
    assert varied.outcome([stopped]) == (
        "Not known: in the calls that were made, no function was compiled again without need. "
        "Other inputs were not all tried: stopped, no result after 9 s; a longer `--timeout` tries more."
    )
    assert varied.outcome([replace(stopped, sweeps=())]).startswith("Not known. Other inputs were not all tried")
    assert "No function was compiled again." not in page.render(replace(rich, dynamic=(stopped,)))
    given = replace(run, recompiles=(RECOMPILE,), sweeps=(replace(SWEEP, automatic=False),))
    assert "A size that you give counts as one" in varied.outcome([given])
