"""Fixes that change the same lines: as patches, the second no longer applies; together they may not be written."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from graphdoctor.model.findings import Edit, Finding
from graphdoctor.model.labels import is_offered

#: Unchanged lines around a change in a unified diff.
_CONTEXT = 3


def overlaps(findings: Sequence[Finding]) -> dict[int, tuple[int, ...]]:
    """For each finding, by its number in ``findings``, those whose offered change is another one at the same lines."""
    changed: dict[str, list[tuple[Edit, int]]] = {}
    for number, finding in enumerate(findings):
        if finding.fix is not None and is_offered(finding, owner=None):
            for edit in finding.fix.edits:
                changed.setdefault(edit.path, []).append((edit, number))
    met: dict[int, dict[int, None]] = {}
    for edits in changed.values():
        for edit, number in edits:
            for beside, other in edits:
                # An import that both add is no conflict.
                if edit != beside and _touch(edit, beside) and _diff(findings[number]) != _diff(findings[other]):
                    met.setdefault(number, {})[other] = None
    return {number: tuple(others) for number, others in met.items()}


def covered(findings: Sequence[Finding], kept: Collection[str], dropped: Collection[str]) -> dict[int, int]:
    """For findings whose own fix was not tried, by number: the one whose fix was kept and changes their line.

    ``kept`` and ``dropped`` are the fingerprints of the fixes that were tried.
    """
    edits = [
        (edit, number)
        for number, finding in enumerate(findings)
        if finding.fix is not None and finding.fingerprint in kept
        for edit in finding.fix.edits
        if edit.start != edit.end
    ]
    found: dict[int, int] = {}
    for number, finding in enumerate(findings):
        place = finding.location
        over = (n for e, n in edits if e.path == place.path and e.start[0] <= place.line <= place.end_line <= e.end[0])
        if finding.fingerprint not in (*kept, *dropped) and (first := next(over, None)) is not None:
            found[number] = first
    return found


def _touch(first: Edit, second: Edit) -> bool:
    return first.start[0] - _CONTEXT <= second.end[0] and second.start[0] - _CONTEXT <= first.end[0]


def _diff(finding: Finding) -> str:
    return finding.fix.diff if finding.fix is not None else ""
