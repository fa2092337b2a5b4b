"""Findings that share a cause."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from graphdoctor.diagnosis.roots import roots
from graphdoctor.model.findings import Edit, Finding, Fix, Location


def _at(build: Any, line: int, start: int, end: int, *edits: Edit) -> Finding:
    fix = Fix("unsafe", "r", edits) if edits else None
    found: Finding = build.finding(fix=fix)
    return replace(found, location=Location("m.py", line, start, line, end))


def test_code_inside_other_code_has_its_cause(build: Any) -> None:
    findings = [_at(build, 3, 8, 30), _at(build, 3, 10, 16), _at(build, 4, 8, 30)]
    assert roots(findings) == {0: 0, 1: 0, 2: 2}


def test_a_fix_that_rewrites_other_findings_stands_for_them(build: Any) -> None:
    loop = _at(build, 7, 1, 9, Edit("m.py", (5, 1), (9, 40), "for expert in experts:\n"))
    findings = [_at(build, 5, 10, 20), loop, _at(build, 9, 1, 10), _at(build, 11, 1, 10)]
    assert roots(findings) == {0: 1, 1: 1, 2: 1, 3: 3}


def test_an_edit_that_only_inserts_covers_nothing(build: Any) -> None:
    findings = [_at(build, 3, 8, 30, Edit("m.py", (1, 1), (1, 1), "import torch\n")), _at(build, 5, 1, 9)]
    assert roots(findings) == {0: 0, 1: 1}


def test_what_was_refuted_is_no_cause(build: Any) -> None:
    refuted = replace(_at(build, 3, 8, 30), status="refuted")
    assert roots([refuted, _at(build, 3, 10, 16)]) == {0: 0, 1: 1}


def test_each_finding_ends_at_a_head_of_its_own(build: Any) -> None:
    """Three that rewrite each other in a circle."""
    findings = [
        _at(build, line, 1, 9, Edit("m.py", (other, 1), (other, 9), "x")) for line, other in ((1, 2), (2, 3), (3, 1))
    ]
    found = roots(findings)
    assert all(found[head] == head for head in found.values())


def test_what_cannot_be_made_again_behind_a_break_has_its_cause(build: Any) -> None:
    iterator = replace(_at(build, 3, 8, 8), status="dynamic-only", gb_ids=("GB0092",))
    item = replace(_at(build, 3, 20, 30), status="confirmed", gb_ids=("GB0124",))
    assert roots([iterator, item]) == {0: 1, 1: 1}
    assert roots([iterator, replace(item, location=Location("m.py", 4, 20, 4, 30))]) == {0: 0, 1: 1}
