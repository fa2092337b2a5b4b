"""Answers to the question whether a fix shall be written."""

from __future__ import annotations

import pytest

from graphdoctor.fixes.verification.interactive import choose
from graphdoctor.model.findings import Edit, Finding, Fix, Location

FINDINGS = [
    Finding(
        "GD101", "print-call", "error", "certain", Location("m.py", line, 1, line, 2), "f", "a message", "why", "do",
        fix=Fix("safe", "nothing changes", (Edit("m.py", (line, 1), (line, 2), ""),), diff=f"the diff of {line}\n"),
    )
    for line in (1, 2, 3)
]  # fmt: skip


@pytest.mark.parametrize(
    ("answers", "lines"),
    [
        ("y n y", [1, 3]),
        ("a", [1, 2, 3]),
        ("n all", [2, 3]),
        ("Yes q", [1]),
        ("q", []),
        ("d y ? n quit", [1]),
    ],
)
def test_answers(answers: str, lines: list[int]) -> None:
    given = iter(answers.split())
    told: list[str] = []
    chosen = choose(FINDINGS, lambda question: next(given), told.append)
    assert [f.location.line for f in chosen] == lines
    assert ("the diff of 1\n" in told) == ("d" in answers.split())
    assert any("answer y" in text for text in told) == ("?" in answers)
    assert told[0].startswith("\n[1/3] m.py:1: GD101 [print-call] a message\n  safe fix. nothing changes")
