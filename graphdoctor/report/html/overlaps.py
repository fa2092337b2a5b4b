"""Changes of which only one can be copied: as patches, the second no longer finds its lines."""

from __future__ import annotations

from collections.abc import Sequence

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


def _touch(first: Edit, second: Edit) -> bool:
    return first.start[0] - _CONTEXT <= second.end[0] and second.start[0] - _CONTEXT <= first.end[0]


def _diff(finding: Finding) -> str:
    return finding.fix.diff if finding.fix is not None else ""
