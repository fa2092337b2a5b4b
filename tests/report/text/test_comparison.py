"""The terminal text of a comparison."""

from __future__ import annotations

from dataclasses import replace

from graphdoctor.model.findings import Diagnosis
from graphdoctor.report.text import comparison, terminal
from graphdoctor.report.text.look import Look

VERBOSE = Look(verbose=True)


def test_new_and_fixed_one_line_each(compared: Diagnosis) -> None:
    assert comparison.render(compared).splitlines() == [
        "Against main: 2 new, 1 fixed, 4 unchanged, 2 not compared: one side was not run or not read",
        "  new   model.py:40:9: error GD000 [graph-break] Dynamo skips a compiled extension",
        "  new   model.py:52:1: note GD201 [compile-result-unused] the result of torch.compile is not used",
        "  fixed model.py:18:9: error GD101 [print-in-graph] what was fixed",
    ]


def test_the_report_of_a_scan_has_it_too(compared: Diagnosis, rich: Diagnosis) -> None:
    text = terminal.render(compared)
    assert " ".join(comparison.render(compared).split()) in " ".join(text.split())
    # It is wrapped as the rest is.
    assert max(map(len, text.splitlines())) <= 100
    assert "Against" not in terminal.render(rich)


def test_what_the_base_had_stands_below_what_is_new(compared: Diagnosis, rich: Diagnosis) -> None:
    own = replace(compared, findings=tuple(replace(f, owner="own", status="confirmed") for f in compared.findings))
    above, _, below = terminal.render(own).partition("Already in main (--verbose has all of it):\n")
    assert "model.py:52:1" in above and "model.py:18:9" not in above
    assert "Already in" not in below + terminal.render(rich)
    # A line for each: nothing of it is to be done now.
    assert "\n  model.py:18:9: error GD101 [print-in-graph]" in f"\n{below}"
    known, full = (
        text.partition("Already in main")[2] for text in (terminal.render(own), terminal.render(own, VERBOSE))
    )
    assert "= why: " not in known.partition("\n\n")[0] and "= why: " in full


def test_why_something_is_allowed(rich: Diagnosis) -> None:
    allowed = replace(rich, findings=(replace(rich.findings[0], allowed="legacy (until 2999-01-01)"),))
    assert "= allowed: legacy (until 2999-01-01)" in terminal.render(allowed)
