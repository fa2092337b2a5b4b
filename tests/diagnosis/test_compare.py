"""What is the same thing in two diagnoses, and what is new or fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from graphdoctor.diagnosis.compare import Base, compare, new_findings, new_first
from graphdoctor.diagnosis.fingerprint import with_fingerprints
from graphdoctor.diagnosis.summary import summarise
from graphdoctor.model.findings import Comparison, Diagnosis, Finding, ScannedFile
from graphdoctor.model.runs import DynamicRun


def at(build: Any, line: int, text: str, **fields: Any) -> Finding:
    """A finding at a line with this text."""
    finding: Finding = build.finding(line, 1, snippet=(text,), snippet_start=line, **fields)
    return finding


def diagnosis(findings: Sequence[Finding], runs: tuple[DynamicRun, ...] | None = None) -> Diagnosis:
    """With fingerprints, made of the lines that the findings show."""
    lines: dict[str, list[str]] = {}
    for finding in findings:
        text = lines.setdefault(finding.location.path, [""] * 100)
        text[finding.location.line - 1] = finding.snippet[0]
    named = with_fingerprints(findings, lines)
    files = tuple(ScannedFile(path, 100, "scanned") for path in sorted(lines))
    return Diagnosis("1", {}, "", summarise(files, named, runs), files, named, runs, None)


def counts(result: Comparison) -> tuple[int, int, int]:
    return len(result.new), len(result.fixed), len(result.unchanged)


def compared(before: Diagnosis, after: Diagnosis, **fields: Any) -> Comparison:
    return compare(Base("base", before, **fields), after)


@pytest.mark.parametrize(
    "moved",
    [
        {"line": 50},
        {"path": "n.py"},
        {"function": "Net.other"},
        {"path": "n.py", "function": "helper", "line": 7},
        {"text": "    print( x )"},
    ],
)
def test_what_moved_is_unchanged(build: Any, moved: dict[str, Any]) -> None:
    before = diagnosis([at(build, 5, "print(x)"), at(build, 9, "print(y)")])
    changed = {"line": 5, "text": "print(x)", **moved}
    after = diagnosis([at(build, changed.pop("line"), changed.pop("text"), **changed), at(build, 9, "print(y)")])
    assert counts(compared(before, after)) == (0, 0, 2)


@pytest.mark.parametrize("other", [{"text": "print(z)"}, {"rule": "GD102"}])
def test_another_line_or_another_rule_is_new(build: Any, other: dict[str, Any]) -> None:
    before = diagnosis([at(build, 5, "print(x)")])
    changed = {"text": "print(x)", **other}
    assert counts(compared(before, diagnosis([at(build, 5, changed.pop("text"), **changed)]))) == (1, 1, 0)


def test_a_second_equal_line_is_new(build: Any) -> None:
    once, twice = [at(build, 5, "print(x)")], [at(build, 5, "print(x)"), at(build, 6, "print(x)")]
    assert counts(compared(diagnosis(once), diagnosis(twice))) == (1, 0, 1)
    assert counts(compared(diagnosis(twice), diagnosis(once))) == (0, 1, 1)


def test_the_nearer_of_two_equal_lines_is_the_same(build: Any) -> None:
    before = diagnosis([at(build, 5, "print(x)", path="a.py"), at(build, 5, "print(x)", path="b.py")])
    after = diagnosis([at(build, 9, "print(x)", path="c.py"), at(build, 7, "print(x)", path="b.py", function="g")])
    result = compare(Base("base", before, {"a.py": "c.py"}), after)
    assert counts(result) == (0, 0, 2)
    left = compared(before, diagnosis([at(build, 7, "print(x)", path="b.py", function="g")]))
    assert [finding.location.path for finding in left.fixed] == ["a.py"]


def test_a_report_without_source_is_matched_by_fingerprint(build: Any) -> None:
    before = diagnosis([at(build, 5, "print(x)")])
    bare = replace(before, findings=tuple(replace(f, snippet=()) for f in before.findings))
    assert counts(compared(bare, before)) == (0, 0, 1)


def test_what_a_run_refuted_is_fixed_and_what_comes_back_is_new(build: Any) -> None:
    run = (build.run(),)
    stands = diagnosis([at(build, 5, "print(x)", status="confirmed")], run)
    refuted = diagnosis([at(build, 5, "print(x)", status="refuted")], run)
    assert counts(compared(stands, refuted)) == (0, 1, 0)
    assert counts(compared(refuted, stands)) == (1, 0, 0)
    assert counts(compared(refuted, refuted)) == (0, 0, 0)


def test_without_a_run_of_the_base_what_only_runs_show_is_not_compared(build: Any) -> None:
    static = diagnosis([at(build, 5, "print(x)")])
    ran = diagnosis(
        [at(build, 5, "print(x)", status="refuted"), at(build, 6, "f(x)", status="dynamic-only")], (build.run(),)
    )
    result = compared(static, ran)
    assert (counts(result), result.not_compared) == ((0, 0, 0), 2)
    result = compared(ran, static)
    assert (counts(result), result.not_compared) == ((1, 0, 0), 1)


def test_files_that_were_not_read_have_nothing_fixed(build: Any) -> None:
    before = diagnosis([at(build, 5, "print(x)"), at(build, 5, "f(x)", path="n.py")])
    nothing = diagnosis([])
    broken = replace(nothing, files=(ScannedFile("m.py", 1, "failed", "syntax error"),))
    assert counts(compared(before, nothing)) == (0, 2, 0)
    assert [f.location.path for f in compared(before, broken).fixed] == ["n.py"]
    left_out = compare(Base("base", before), nothing, lambda path: path == "n.py")
    assert ([f.location.path for f in left_out.fixed], left_out.not_compared) == (["m.py"], 1)


def test_cells_of_a_notebook_that_was_not_read_have_nothing_fixed(build: Any) -> None:
    before = diagnosis([at(build, 5, "print(x)", path="demo.ipynb:cell 2")])
    nothing = diagnosis([])
    broken = replace(nothing, files=(ScannedFile("demo.ipynb", 1, "failed", "no JSON"),))
    assert counts(compared(before, nothing)) == (0, 1, 0)
    assert counts(compared(before, broken)) == (0, 0, 0)
    left_out = compare(Base("base", before), nothing, lambda path: path == "demo.ipynb")
    assert (left_out.fixed, left_out.not_compared) == ((), 1)


def test_what_was_only_possible_is_not_fixed_by_its_absence(build: Any) -> None:
    before = diagnosis([at(build, 5, "print(x)", confidence="possible")])
    assert counts(compared(before, diagnosis([]))) == (0, 0, 0)


def test_new_findings_stand_first(build: Any) -> None:
    before = diagnosis([at(build, 5, "print(x)")])
    after = diagnosis([at(build, 5, "print(x)"), at(build, 6, "print(y)")])
    judged = replace(after, comparison=compared(before, after))
    assert [f.location.line for f in new_findings(judged)] == [6]
    assert [f.location.line for f in new_first(judged).findings] == [6, 5]
    assert new_findings(after) == () and new_first(after) == after
