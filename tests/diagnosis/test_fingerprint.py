"""Fingerprints survive moved lines and tell equal lines apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from graphdoctor.diagnosis.fingerprint import with_fingerprints


def marks(findings: Any, text: str) -> list[str]:
    return [f.fingerprint for f in with_fingerprints(findings, {"m.py": text.split("\n")})]


def test_moved_and_respaced_lines_keep_their_name(build: Any) -> None:
    before = marks([build.finding(2, 1)], "a\nprint(x, 1)\n")
    after = marks([build.finding(4, 5)], "a\nb\nc\n    print( x,1 )\n")
    assert before == after and len(before[0]) == 16


def test_what_makes_a_difference(build: Any) -> None:
    text = "print(x)\nprint(y)\n"
    base = build.finding(1, 1)
    others = [
        build.finding(2, 1),
        replace(base, rule="GD102"),
        replace(base, function="g"),
        build.finding(1, 1, path="n.py"),
    ]
    seen = {marks([f], text)[0] for f in [base, *others]}
    assert len(seen) == 5


def test_equal_lines_are_counted_in_order(build: Any) -> None:
    text = "print(x)\nprint(x)\n"
    first, second = build.finding(1, 1), build.finding(2, 1)
    names = marks([second, first], text)
    assert names[0] != names[1]
    assert names[1] == marks([first], text)[0]


def test_lines_that_are_not_known(build: Any) -> None:
    assert len(marks([build.finding(99, 1)], "a\n")[0]) == 16
