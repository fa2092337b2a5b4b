"""Verdicts stay with the findings that they are about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.foreign_usage import counts, judged

FOUND = {"rule": "GD618", "repository": "a/b", "path": "train.py", "line": 3, "severity": "warning", "message": "m"}


def test_a_known_finding_keeps_its_verdict_and_another_is_new() -> None:
    known = [FOUND | {"verdict": "right", "why": "the keys"}]
    rows = judged([FOUND | {"line": 9}, FOUND], known)
    assert [(row["line"], row["verdict"], row["why"]) for row in rows] == [(3, "right", "the keys"), (9, "new", "")]
    assert counts(rows) == [("GD618", 1, 0, 0, 1)]


TABLES = ("usage", "usage-unseen", "usage-held-out", "usage-november", "usage-fresh", "usage-hundred")


@pytest.mark.parametrize("name", TABLES)
def test_every_finding_of_a_table_has_a_verdict(root: Path, name: str) -> None:
    table = json.loads((root / "benchmarks" / "results" / f"{name}.json").read_text())
    rows = [*table["findings"], *table.get("first", ())]
    assert {row["verdict"] for row in rows} <= {"right", "debatable", "wrong"}
    assert {row["repository"] for row in rows} <= {each["repository"] for each in table["repositories"]}
    assert all(row["why"] for row in rows)
