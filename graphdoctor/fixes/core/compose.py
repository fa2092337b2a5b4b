"""Fixes that overlap, made one after the other: together they are one change, which each of their findings gets. Pure.

The fix of a branch computes both of its sides; only then a fix inside one of the sides can be made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from graphdoctor.fixes.core.apply import apply, fixed_texts, overlap, select_fixes
from graphdoctor.fixes.core.diff import edits_between, of_edits
from graphdoctor.model.findings import Edit, Finding, Fix, Location
from graphdoctor.model.labels import sets_for_process
from graphdoctor.source.text import LINE_END

#: The findings in a text, as the static pass has them.
Analyse = Callable[[str], Iterable[Finding]]
#: Fixes that are made one after the other at one place.
_MOST = 4


def overlapping(findings: Sequence[Finding]) -> list[tuple[Finding, ...]]:
    """The findings whose fixes overlap: first the one whose fix is made, then those whose fixes are left out for it."""
    chosen, dropped = select_fixes(findings, unsafe=True, owner=None)
    groups = ((head, *(other for other in dropped if _overlap(head, other))) for head in chosen)
    return [group for group in groups if len(group) > 1]


def _overlap(one: Finding, other: Finding) -> bool:
    edits = [(mine, theirs) for mine in _edits(one) for theirs in _edits(other)]
    return any(overlap(mine, theirs) for mine, theirs in edits)


def _edits(finding: Finding) -> tuple[Edit, ...]:
    return finding.fix.edits if finding.fix is not None else ()


def composed(group: Sequence[Finding], text: str, analyse: Analyse) -> Fix | None:
    """The fixes of ``group``, made in ``text`` one after the other; None where findings of its rules are left."""
    head, rules = group[0], {finding.rule for finding in group[1:]}
    if head.fix is None:
        return None
    path, made = head.location.path, [head.fix]
    after = apply(text, _edits(head))
    for _ in range(_MOST):
        lines, found = _changed(path, text, after), [f for f in analyse(after) if f.rule in rules]
        inside = [finding for finding in found if lines & _lines(finding.location)]
        fitting = (f for f in found if _is_local(f) and (f in inside or any(lines & _lines(e) for e in _edits(f))))
        chosen, _rest = select_fixes(fitting, unsafe=True, owner=None)
        if not chosen:
            break
        made += [finding.fix for finding in chosen if finding.fix is not None]
        after = fixed_texts({path: after}, chosen)[path]
    if len(made) < 2 or inside:
        return None
    edits = edits_between(path, text, after)
    return replace(
        made[0],
        safety="safe" if all(fix.safety == "safe" for fix in made) else "unsafe",
        reason=" ".join(dict.fromkeys(fix.reason for fix in made)),
        edits=edits,
        diff=of_edits(path, text, edits),
        known=tuple(dict.fromkeys(name for fix in made for name in fix.known)),
    )


def _is_local(finding: Finding) -> bool:
    return finding.fix is not None and not sets_for_process(finding.fix)


def _changed(path: str, before: str, after: str) -> set[int]:
    """The lines of ``after`` that ``before`` does not have."""
    lines: set[int] = set()
    added = 0
    for edit in edits_between(path, before, after):
        first, count = edit.start[0] + added, len(LINE_END.findall(edit.text))
        lines.update(range(first, first + count))
        added += count - (edit.end[0] - edit.start[0])
    return lines


def _lines(place: Location | Edit) -> set[int]:
    if isinstance(place, Edit):
        return set(range(place.start[0], place.end[0] + 1))
    return set(range(place.line, place.end_line + 1))
