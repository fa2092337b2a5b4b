"""Proving fixes, with reruns whose results depend on the fixes that are applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from graphdoctor.fixes.verify import EXTRA_RUNS, verify
from graphdoctor.model import Break, DynamicRun, Edit, Finding, Fix, FullGraph, Location, Numerics

TEXT = "a\nb\nc\nd\n"
BEFORE = (DynamicRun("f", "eval", "cpu", "ok", graphs=4, breaks=tuple(
    Break("m.py", line, 1, "f", "GB0059", "x", "y") for line in (1, 2, 3))),)  # fmt: skip


def finding(line: int, letter: str, safety: Any = "safe", status: Any = "confirmed") -> Finding:
    fix = Fix(safety, "reason", (Edit("m.py", (line, 1), (line, 2), letter),))
    place = Location("m.py", line, 1, line, 2)
    return Finding(
        "GD101", "n", "error", "certain", place, "f", "m", "w", "s", status=status, fix=fix, fingerprint=letter
    )


class Reruns:
    """Stands for the worker: breaks where a small letter is left, raises or differs where a bad letter is."""

    def __init__(self, raising: str = "", differing: str = "", breaking: str = "", compared: bool = True) -> None:
        self.raising, self.differing, self.breaking, self.compared = raising, differing, breaking, compared
        self.texts: list[str] = []

    def __call__(self, texts: Mapping[str, str]) -> Sequence[DynamicRun]:
        text = texts.get("m.py", TEXT)
        self.texts.append(text)
        if set(text) & set(self.raising):
            return (DynamicRun("f", "eval", "cpu", "raised", "TypeError: no"),)
        lines = text.split("\n")[:3]
        breaks = tuple(
            Break("m.py", number, 1, "f", "GB0059", "x", "y")
            for number, line in enumerate(lines, 1)
            if line.islower() or set(line) & set(self.breaking)
        )
        equal = not set(text) & set(self.differing)
        numerics = Numerics(equal, 0.0 if equal else 1.0, "1e-5") if self.compared else None
        run = DynamicRun("f", "eval", "cpu", "ok", graphs=len(breaks) + 1, breaks=breaks, numerics=numerics)
        return (replace(run, fullgraph=FullGraph(not breaks or bool(self.breaking))),)


def grades(findings: Sequence[Finding]) -> list[str]:
    return [f.fix.grade if f.fix is not None else "" for f in findings]


def test_all_fixes_work() -> None:
    findings = [finding(1, "A"), finding(2, "B", "unsafe"), finding(3, "C"), finding(4, "D", status="not-reached")]
    reruns = Reruns()
    result = verify(findings, {"m.py": TEXT}, BEFORE, reruns)
    assert result is not None and reruns.texts == ["A\nB\nC\nD\n"]
    verification = result.verification
    assert (verification.grade, verification.breaks, verification.graphs) == ("general", 0, 1)
    assert verification.fullgraph_passes is True and verification.fixes == ("A", "B", "C", "D")
    assert verification.detail == "4 fixes (1 of them unsafe) applied to a copy in memory: 0 graph breaks, 3 before."
    assert grades(result.findings) == ["general", "general", "general", "not-verified"]


def test_a_remaining_break_lowers_the_grade_of_its_fix_only() -> None:
    findings = [finding(1, "A"), finding(2, "X")]
    result = verify(findings, {"m.py": TEXT}, BEFORE, Reruns(breaking="X"))
    assert result is not None and grades(result.findings) == ["general", "setup-required"]
    assert result.verification.grade == "setup-required"
    result = verify([finding(1, "A"), finding(2, "x")], {"m.py": TEXT}, BEFORE, Reruns())
    assert result is not None and grades(result.findings) == ["general", "none"]
    assert result.verification.grade == "none"


def test_the_fix_that_raises_is_found_among_the_unsafe_ones() -> None:
    findings = [finding(1, "A"), finding(2, "R", "unsafe"), finding(3, "C", "unsafe")]
    reruns = Reruns(raising="R")
    result = verify(findings, {"m.py": TEXT}, BEFORE, reruns)
    assert result is not None and result.verification.fixes == ("A", "C")
    assert grades(result.findings) == ["general", "none", "general"]
    assert len(reruns.texts) <= 1 + EXTRA_RUNS
    assert (
        "the eval run did not end well (raised: TypeError: no); left out: GD101 at m.py:2" in result.verification.detail
    )
    assert result.findings[1].fix is not None and result.findings[1].fix.reason.startswith(
        "reason It failed: the eval run"
    )


def test_the_safe_fix_that_changes_outputs_is_found() -> None:
    findings = [finding(1, "A"), finding(2, "R"), finding(3, "C")]
    result = verify(findings, {"m.py": TEXT}, BEFORE, Reruns(differing="R"))
    assert result is not None and result.verification.fixes == ("A", "C")
    assert grades(result.findings) == ["general", "none", "general"]
    assert "the outputs in eval mode differ" in result.verification.detail


def test_when_every_set_fails_nothing_is_shown_as_verified() -> None:
    findings = [finding(1, "R"), finding(2, "R", "unsafe"), finding(3, "R")]
    reruns = Reruns(differing="R")
    result = verify(findings, {"m.py": TEXT}, BEFORE, reruns)
    assert result is not None and result.verification.grade == "none"
    assert grades(result.findings) == ["none", "none", "none"] and len(reruns.texts) <= 1 + EXTRA_RUNS


def test_outputs_that_were_not_compared_prove_nothing() -> None:
    result = verify([finding(1, "A")], {"m.py": TEXT}, BEFORE, Reruns(compared=False))
    assert result is not None and result.verification.numerics is None
    assert grades(result.findings) == ["not-verified"] and result.verification.grade == "none"


def test_nothing_to_verify() -> None:
    refuted = finding(1, "A", status="refuted")
    manual = replace(finding(2, "B"), fix=Fix("manual", "no"))
    assert verify([refuted, manual], {"m.py": TEXT}, BEFORE, Reruns()) is None


def test_overlapping_fixes_are_named() -> None:
    result = verify([finding(1, "A"), finding(1, "B")], {"m.py": TEXT}, BEFORE, Reruns())
    assert result is not None and "overlap other fixes: GD101 at m.py:1" in result.verification.detail
    assert grades(result.findings) == ["general", "not-verified"]
