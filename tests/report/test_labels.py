"""What a fix is called, and that everything that writes, shows or counts fixes goes by it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphdoctor.fixes.core.apply import select_fixes
from graphdoctor.fixes.verification import coverage
from graphdoctor.model.findings import Diagnosis, Edit, Finding, Fix, Location, Summary
from graphdoctor.model.labels import is_offered, label, may_be_written, needs_advice, ran_in_part
from graphdoctor.model.runs import Dropped, Verification
from graphdoctor.report.ci import sarif
from graphdoctor.report.json_format import writer
from graphdoctor.report.markdown.review import suggestion
from graphdoctor.report.text import fixes, terminal
from graphdoctor.report.text.look import Look
from graphdoctor.scan.installed_fixes import patch

EDIT = (Edit("m.py", (1, 1), (1, 2), "x"),)
DIFF = "--- a/m.py\n+++ b/m.py\n@@ -1,1 +1,1 @@\n-a\n+x\n"

FIXES = {
    "safe": Fix("safe", "why", EDIT, DIFF),
    "verified": Fix("unsafe", "why", EDIT, DIFF, "general", verified=True, assumes="inputs of float32"),
    "unsafe": Fix("unsafe", "why", EDIT, DIFF),
    "refused": Fix("safe", "why", EDIT, DIFF, "none", "Dropped: wrong.", verified=True),
    "manual": Fix("manual", "why"),
}


def finding(name: str, **changes: Any) -> Finding:
    place = Location("m.py", 1, 1, 1, 2)
    made = Finding("GD101", "n", "error", "certain", place, "f", "m", "w", "s", fix=FIXES[name], fingerprint=name)
    return replace(made, **changes)


@pytest.mark.parametrize("name", FIXES)
def test_labels(name: str) -> None:
    assert label(FIXES[name]) == name


def test_what_the_source_proves_needs_no_run_and_no_run_makes_up_for_a_refutation() -> None:
    assert label(replace(FIXES["safe"], verified=True, grade="general")) == "safe"
    assert label(replace(FIXES["verified"], grade="none")) == "refused"
    # A run that compiled well, but did not reach all of the changed code.
    assert label(replace(FIXES["verified"], verified=False)) == "unsafe"


@pytest.mark.parametrize(
    ("name", "plain", "asked"),
    [("safe", True, True), ("verified", True, True), ("unsafe", False, True), ("refused", False, False),
     ("manual", False, False)],
)  # fmt: skip
def test_what_is_written(tmp_path: Path, name: str, plain: bool, asked: bool) -> None:
    found = finding(name)
    assert (may_be_written(found, False), may_be_written(found, True)) == (plain, asked)
    assert is_offered(found) == asked
    for unsafe, written in ((False, plain), (True, asked)):
        assert bool(select_fixes([found], unsafe)[0]) == written
        assert not select_fixes([replace(found, owner="third-party")], unsafe)[0]
        assert not select_fixes([replace(found, status="refuted")], unsafe)[0]
        site = tmp_path / f"{unsafe}" / "site-packages"
        site.mkdir(parents=True)
        (site / "m.py").write_text("a\n")
        installed = replace(found, owner="third-party", location=replace(found.location, path="site-packages/m.py"))
        assert bool(patch([installed], site.parent, unsafe)) == written


@pytest.mark.parametrize("name", FIXES)
def test_reports_show_and_count_what_is_offered(name: str, rich: Any) -> None:
    shown = replace(rich, findings=(finding(name),), verification=None)
    offered = name in ("safe", "verified", "unsafe")
    rendered = terminal.render(shown, Look(verbose=True))
    assert ("  +x\n" in rendered) == ("1 automatic fix" in rendered.splitlines()[-1]) == offered
    assert ("only with --unsafe-fixes" in rendered) == (name == "unsafe")
    assert ("fixes" in json.loads(sarif.render(shown))["runs"][0]["results"][0]) == offered
    assert (suggestion(finding(name)) is not None) == offered
    assert ("Not written:" in fixes.render(shown)) == offered
    found = json.loads(writer.render(shown))["findings"][0]["fix"]
    assert found["label"] == name and found["safety"] == FIXES[name].safety
    assert (found["assumes"], found["verified"]) == (FIXES[name].assumes or None, FIXES[name].verified)


@pytest.mark.parametrize(
    ("name", "owner", "unsafe", "told"),
    [
        ("unsafe", "own", False, True),
        ("unsafe", "own", True, False),
        ("safe", "own", False, False),
        ("unsafe", "third-party", False, False),
        ("safe", "third-party", False, False),
    ],
)
def test_the_option_for_unsafe_fixes_is_named_where_it_writes_more(
    name: str, owner: Any, unsafe: bool, told: bool, rich: Any
) -> None:
    shown = replace(rich, findings=(replace(finding(name), owner=owner),), verification=None)
    last = fixes.render(shown, unsafe).splitlines()[-1]
    assert last.startswith("0 fixes written, 1 finding left.")
    assert ("--unsafe-fixes writes it too" in last) == told


@pytest.mark.parametrize(("name", "told"), [("manual", True), ("refused", True), ("safe", False)])
def test_what_to_write_by_hand_is_said_where_no_fix_is_offered(name: str, told: bool, rich: Any) -> None:
    found = replace(finding(name), suggestion="draw with torch")
    shown = replace(rich, findings=(found,), verification=None)
    assert ("draw with torch" in fixes.render(shown)) == told


def test_where_every_fix_was_dropped_the_numbers_are_those_of_the_original(rich: Any) -> None:
    dropped = Verification(
        (),
        4,
        3,
        False,
        None,
        "none",
        "No fix is offered: 1 fix was tried and dropped.",
        dropped=(Dropped("f", "it is wrong"),),
    )
    summary = Summary("not-ready", "Not ready: 3 graph breaks", 1, 0, 3, 3, 4, 0, 1, 0)
    shown = replace(rich, findings=(finding("refused"),), verification=dropped, summary=summary)
    for rendered in (terminal.render(shown), fixes.render(shown)):
        flat = " ".join(rendered.split())
        assert "no fix is left, all were dropped; the code as it is: 4 graphs, 3 graph breaks" in flat
        assert "0 fixes" not in flat.replace("0 fixes written", "") and "automatic fix:" not in flat.replace(
            "No automatic fix:", ""
        )
    found = json.loads(writer.render(shown))["verification"]
    assert (found["fixes"], found["graphs"], found["breaks"]) == ([], 4, 3)
    assert found["dropped"] == [{"fix": "f", "reason": "it is wrong"}]


def test_the_gaps_that_verification_finds_are_known_as_code_that_ran_in_part() -> None:
    fix = Fix("unsafe", "reason", (Edit("m.py", (2, 1), (2, 9), "y"),), "diff")
    place = Location("m.py", 2, 1, 2, 9)
    found = Finding("GD201", "n", "error", "certain", place, "f", "m", "w", "s", fix=fix)
    text = "def f(x):\n    if x:\n        y = 1\n"
    for seen in ({}, {("m.py", 2, 8): frozenset({True})}):
        _, gaps = coverage.tests(found, text, seen)
        assert gaps and ran_in_part(replace(fix, doubts="; ".join(["it may raise", *gaps])))
    assert not ran_in_part(replace(fix, doubts="it may raise"))


@pytest.mark.parametrize(
    ("changes", "needed"),
    [
        ({}, False),
        ({"safety": "unsafe"}, True),
        ({"safety": "unsafe", "doubts": "its line did not run"}, False),
        (
            {"safety": "unsafe", "doubts": "it changes a setting", "text": "torch._dynamo.config.allow_rnn = True\n"},
            True,
        ),
        ({"grade": "none"}, True),
    ],
)
def test_the_advice_of_a_rule_stands_beside_fixes_that_are_to_be_weighed(
    rich: Diagnosis, changes: dict[str, Any], needed: bool
) -> None:
    finding = rich.findings[0]
    assert finding.fix is not None
    text = changes.get("text", finding.fix.edits[0].text)
    others = {name: value for name, value in changes.items() if name != "text"}
    fix = replace(finding.fix, edits=(replace(finding.fix.edits[0], text=text),), **others)
    assert needs_advice(replace(finding, fix=fix)) is needed
    assert needs_advice(replace(finding, fix=None))
