"""Findings that share a cause: a fix for one also fixes the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from graphdoctor.model.findings import Edit, Finding, Location


def roots(findings: Sequence[Finding]) -> dict[int, int]:
    """For each finding, by its number in ``findings``, the number of the one that has its cause: mostly its own.

    Two findings have one cause where one marks code inside that of the other, or where the fix of one rewrites the code
    of the other. The first of them in the order of ``findings``, which is that of importance, stands for all; a finding
    whose fix covers another always stands before it.
    """
    root = {number: number for number in range(len(findings))}
    touched = _touched(findings)
    for number, finding in enumerate(findings):
        if finding.status != "refuted":
            path = finding.location.path
            near = sorted({n for line in _lines(finding.location) for n in touched[path, line]} - {number})
            head = next((n for n in near if _leads(findings[n], n, finding, number)), None)
            if head is not None:
                root[number] = head
    return {number: _top(number, root) for number in root}


def _touched(findings: Sequence[Finding]) -> dict[tuple[str, int], list[int]]:
    """By path and line: the findings that mark code there, or whose fixes rewrite some.

    A file may have a thousand findings, and few of them are near to each other.
    """
    touched: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, finding in enumerate(findings):
        if finding.status == "refuted":
            continue
        path = finding.location.path
        edits = [edit for edit in (finding.fix.edits if finding.fix else ()) if edit.path == path]
        lines = set(_lines(finding.location))
        lines.update(*(range(edit.start[0], edit.end[0] + 1) for edit in edits if edit.start < edit.end))
        for line in lines:
            touched[path, line].append(number)
    return touched


def _lines(place: Location) -> range:
    return range(place.line, place.end_line + 1)


def _top(number: int, root: dict[int, int]) -> int:
    seen = set()
    while root[number] != number and number not in seen:
        seen.add(number)
        number = root[number]
    return number


#: Dynamo could not go on after a break: what was in use there cannot be made again, or a comprehension is left alone.
_AFTER_A_BREAK = frozenset({"GB0092", "GB4347", "GB8335"})


def follows(finding: Finding) -> bool:
    """Whether the break is a consequence of another one."""
    return finding.status == "dynamic-only" and _AFTER_A_BREAK.issuperset(finding.gb_ids or ("",))


def _leads(head: Finding, head_number: int, other: Finding, other_number: int) -> bool:
    """Whether ``head`` stands for ``other``."""
    if follows(other):
        same_line = head.location.line == other.location.line
        return same_line and head.status == "confirmed" and not _AFTER_A_BREAK.issuperset(head.gb_ids)
    mends = any(_covers(edit, other.location) for edit in (head.fix.edits if head.fix else ()))
    back = any(_covers(edit, head.location) for edit in (other.fix.edits if other.fix else ()))
    if mends != back:
        return mends
    if mends or _overlap(head.location, other.location):
        return head_number < other_number
    return False


def _covers(edit: Edit, place: Location) -> bool:
    """Whether the edit replaces all of the code at ``place``."""
    start, end = (place.line, place.column), (place.end_line, place.end_column)
    return edit.path == place.path and edit.start <= start and end <= edit.end and edit.start < edit.end


def _overlap(one: Location, other: Location) -> bool:
    start = max((one.line, one.column), (other.line, other.column))
    end = min((one.end_line, one.end_column), (other.end_line, other.end_column))
    return start < end
