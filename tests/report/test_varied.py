from dataclasses import replace

from graphdoctor.model import Diagnosis
from graphdoctor.report import html, markdown, text, varied, words
from graphdoctor.run_model import Recompile, Sweep, TriedRemedy

SWEEP = Sweep("batch 4, 5, 6, 1", True, 5, 3, "normal: size 1 is compiled by itself")
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


def test_a_sweep_in_words() -> None:
    assert varied.sweep(SWEEP) == (
        "varied by itself: batch 4, 5, 6, 1; 3 compilations in 5 calls; normal: size 1 is compiled by itself"
    )
    asked = replace(SWEEP, varied="x:0=4,5", automatic=False, detail="", verified_compilations=1)
    assert varied.sweep(asked) == (
        "varied: x:0=4,5; 3 compilations in 5 calls, 1 with all remedies together (measured)"
    )


def test_what_was_tried_beside_the_remedy() -> None:
    assert varied.tried(RECOMPILE) == ["`mark`: it breaks the graph", "other: 2 compilations"]


def test_the_distance_to_the_recompile_limit() -> None:
    at_limit = words.recompile_effect(RECOMPILE)
    assert at_limit.startswith("8 compilations, the recompile limit (what differs again runs uncompiled")
    assert at_limit.endswith("1 with the remedy (measured)")
    below = replace(RECOMPILE, compilations=5, at_limit=False, verified_compilations=None)
    assert words.recompile_effect(below) == "5 compilations of at most 8 (the recompile limit)"
    assert words.recompile_effect(replace(below, compilations=2)) == "2 compilations"


def test_all_reports_show_sweeps_and_the_text_what_was_tried(rich: Diagnosis) -> None:
    assert rich.dynamic is not None
    run = replace(rich.dynamic[0], sweeps=(SWEEP,), recompiles=(RECOMPILE,))
    shown = replace(rich, dynamic=(run,))
    for rendered in (text.render(shown), markdown.render(shown), html.render(shown)):
        assert "size 1 is compiled by itself" in " ".join(rendered.split())
    assert "= tried: `mark`: it breaks the graph" in text.render(shown)
