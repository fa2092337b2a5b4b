"""Where the fixes change a file: the lines that they remove, and those that they add, with their places."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise

from graphdoctor.model.findings import Finding

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))?")
#: Lines below a finding that are seen with it.
_NEAR = 3


@dataclass(frozen=True)
class Change:
    """The lines ``added`` stand after the line ``after``, in place of the lines ``removed``.

    ``finding`` is the one whose fix it is, ``away`` whether it is far from the lines that the finding marks.
    """

    after: int
    removed: tuple[int, ...]
    added: tuple[str, ...]
    finding: Finding
    away: bool


def changes(findings: Iterable[Finding], path: str) -> tuple[Change, ...]:
    """The changes of the fixes of ``findings`` in the file ``path``, each once: many need the same import."""
    met: dict[tuple[object, ...], Change] = {}
    for finding in findings:
        for after, removed, added in _edits(finding.fix.diff if finding.fix is not None else "", path):
            place = finding.location
            first = removed[0] if removed else after
            away = place.path != path or not place.line - 1 <= first <= place.end_line + _NEAR
            met.setdefault((after, removed, added), Change(after, removed, added, finding, away))
    return tuple(met.values())


def _edits(diff: str, path: str) -> Iterator[tuple[int, tuple[int, ...], tuple[str, ...]]]:
    """The line after which something changes, the lines that go, and those that come."""
    for kind, rows in groupby(_rows(diff, path), key=lambda row: row[0] != " "):
        if kind:
            marked = list(rows)
            removed = tuple(number for sign, number, _ in marked if sign == "-")
            added = tuple(text for sign, _, text in marked if sign == "+")
            yield (removed[-1] if removed else marked[0][1] - 1), removed, added


def _rows(diff: str, path: str) -> Iterator[tuple[str, int, str]]:
    """The sign of each line of ``path`` in ``diff``, the number of the original's line that it is or stands before,
    and its text; a hunk begins with an empty row.
    """
    number, here = 0, False
    for line, below in pairwise([*diff.splitlines(), ""]):
        hunk = _HUNK.match(line)
        if line.startswith("--- ") and below.startswith("+++ "):
            here = line.endswith(f"/{path.lstrip('/')}") or line == f"--- {path}"
        elif line.startswith("+++ "):
            continue
        elif hunk is not None:
            # Of no lines, the number is that of the line before.
            number = int(hunk[1]) + (hunk[2] == "0")
            yield " ", number, ""
        elif here:
            yield line[:1] or " ", number, line[1:]
            number += line[:1] != "+"
