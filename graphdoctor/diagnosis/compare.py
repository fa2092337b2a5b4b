"""What is new, fixed and unchanged between two diagnoses. Pure.

A break that moved is not new: what has no equal by fingerprint is looked for in renamed files, in other functions and
in other files, by its rule and the text of its line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from graphdoctor.model.findings import Comparison, Finding
from graphdoctor.source.notebook import cell_of

if TYPE_CHECKING:
    from graphdoctor.model.findings import Diagnosis

_Key = Callable[[Finding], Hashable | None]


@dataclass(frozen=True)
class Base:
    """What a diagnosis is compared with. ``renames`` maps paths of the base to what these files are called now."""

    name: str
    diagnosis: Diagnosis
    renames: Mapping[str, str] = field(default_factory=dict)


def compare(base: Base, head: Diagnosis, was_left_out: Callable[[str], bool] = lambda _path: False) -> Comparison:
    """How ``head`` differs from ``base``. ``was_left_out`` tells of a path that it exists and ``head`` did not read it.

    What one side could not see is neither new nor fixed: breaks that only a run shows where the other side ran nothing,
    files that were not read, and what a run refuted where the base was not run.
    """
    before = tuple(_renamed(finding, base.renames) for finding in base.diagnosis.findings)
    pairs = _pairs(before, head.findings)
    paired = {id(finding) for pair in pairs for finding in pair}
    added = [f for f in head.findings if id(f) not in paired and _is_open(f)]
    added += [now for was, now in pairs if _is_open(now) and not _is_open(was)]
    new = {id(f) for f in added if f.status != "dynamic-only" or base.diagnosis.dynamic is not None}
    gone = [f for f in before if id(f) not in paired and _is_open(f) and not _is_only_possible(f)]
    gone += [was for was, now in pairs if _is_open(was) and not _is_open(now)]
    unread = {file.path for file in head.files if file.status == "failed"}
    fixed = [
        f
        for f in gone
        if _file(f) not in unread
        and not was_left_out(_file(f))
        and (f.status != "dynamic-only" or head.dynamic is not None)
        and (id(f) not in paired or base.diagnosis.dynamic is not None)
    ]
    return Comparison(
        base=base.name,
        summary=base.diagnosis.summary,
        dynamic=base.diagnosis.dynamic,
        new=tuple(f.fingerprint for f in head.findings if id(f) in new),
        unchanged=tuple(now.fingerprint for was, now in pairs if _is_open(was) and _is_open(now)),
        fixed=tuple(fixed),
        not_compared=len(added) - len(new) + len(gone) - len(fixed),
    )


def new_findings(diagnosis: Diagnosis) -> tuple[Finding, ...]:
    """The findings that the base did not have; none where nothing was compared."""
    new = frozenset(diagnosis.comparison.new) if diagnosis.comparison else frozenset()
    return tuple(f for f in diagnosis.findings if f.fingerprint in new)


def new_first(diagnosis: Diagnosis) -> Diagnosis:
    """``diagnosis`` with what is new at the head of its findings."""
    new = new_findings(diagnosis)
    known = {finding.fingerprint for finding in new}
    return replace(diagnosis, findings=(*new, *(f for f in diagnosis.findings if f.fingerprint not in known)))


def _is_open(finding: Finding) -> bool:
    return finding.status != "refuted"


def _is_only_possible(finding: Finding) -> bool:
    """Reported on request alone, so that its absence has no meaning."""
    return finding.confidence == "possible" and finding.status != "confirmed"


def _renamed(finding: Finding, renames: Mapping[str, str]) -> Finding:
    place = finding.location
    return replace(finding, location=replace(place, path=renames.get(place.path, place.path)))


def _pairs(before: Sequence[Finding], after: Sequence[Finding]) -> list[tuple[Finding, Finding]]:
    """Findings that are the same in both, the surest matches first; each is in one pair at most."""
    pairs: list[tuple[Finding, Finding]] = []
    for key in _KEYS:
        taken = {id(finding) for pair in pairs for finding in pair}
        waiting = _grouped((f for f in before if id(f) not in taken), key)
        for finding in after:
            if id(finding) not in taken and (same := waiting.get(key(finding))):
                pairs.append((same.pop(0), finding))
    return pairs


def _grouped(findings: Iterable[Finding], key: _Key) -> dict[Hashable | None, list[Finding]]:
    groups: dict[Hashable | None, list[Finding]] = defaultdict(list)
    for finding in findings:
        if (name := key(finding)) is not None:
            groups[name].append(finding)
    return groups


def _by_text(*fields: Callable[[Finding], str]) -> _Key:
    """The text of the line with more that must agree; no key where the report does not hold the line."""

    def key(finding: Finding) -> Hashable | None:
        text = _line_text(finding)
        return (text, *(read(finding) for read in fields)) if text else None

    return key


def _line_text(finding: Finding) -> str:
    """The line of ``finding`` without spacing, as in its fingerprint."""
    number = finding.location.line - finding.snippet_start
    return "".join(finding.snippet[number].split()) if 0 <= number < len(finding.snippet) else ""


def _file(finding: Finding) -> str:
    """The file that ``finding`` is in; of a cell, which a report that was kept names, its notebook."""
    cell = cell_of(finding.location.path)
    return cell[0] if cell is not None else finding.location.path


def _rule(finding: Finding) -> str:
    return finding.rule


def _path(finding: Finding) -> str:
    return finding.location.path


def _function(finding: Finding) -> str:
    return finding.function


#: What two findings agree on to be the same: the same place; a renamed file; a function that moved to another
#: file; a line that moved to another function; a line that moved to another file and function.
_KEYS: tuple[_Key, ...] = (
    lambda finding: finding.fingerprint or None,
    _by_text(_rule, _path, _function),
    _by_text(_rule, _function),
    _by_text(_rule, _path),
    _by_text(_rule),
)
