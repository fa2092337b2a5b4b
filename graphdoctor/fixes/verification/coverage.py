"""How much of the code that a fix changes ran while it was verified: what did not run was not compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from graphdoctor.model.findings import Finding
from graphdoctor.model.runs import DynamicRun, Varied
from graphdoctor.syntax.branches import Place, branches

#: The outcomes of tests and loops, by path and place.
Seen = Mapping[tuple[str, int, int], frozenset[bool]]


def lines_of(finding: Finding) -> set[int]:
    """The lines of the original that ``finding`` underlines or its fix replaces."""
    place = finding.location
    found = set(range(place.line, place.end_line + 1))
    for edit in finding.fix.edits if finding.fix is not None else ():
        # What is put at the start of a line, or before it, leaves that line as it is.
        last = edit.end[0] - (edit.end[1] == 1)
        found |= set(range(edit.start[0], last + 1)) if edit.start != edit.end else set()
    return found


def outcomes(recorded: Iterable[Varied]) -> Seen:
    """What the tests of the original gave, over all modes."""
    seen: dict[tuple[str, int, int], frozenset[bool]] = {}
    for path, line, column, truth in (test for varied in recorded for test in varied.seen):
        seen[path, line, column] = seen.get((path, line, column), frozenset()) | {truth}
    return seen


def has_run(finding: Finding, before: Sequence[DynamicRun], seen: Seen) -> bool:
    """Whether the lines of ``finding`` ran: in the sample, or on varied inputs where they hold a test."""
    place = finding.location
    lines = set(range(place.line, place.end_line + 1))
    executed = any(lines & run.executed.get(place.path, frozenset()) for run in before)
    tested = any(path == place.path and line in lines for path, line, _ in seen)
    return executed or tested or finding.status in ("confirmed", "dynamic-only")


def tests(finding: Finding, text: str, seen: Seen) -> tuple[Mapping[Place, frozenset[bool]], list[str]]:
    """The outcomes of the tests in the changed lines, and clauses about those that were missing."""
    path = finding.location.path
    wanted = branches(text, lines_of(finding))
    had = {place: seen.get((path, *place), frozenset()) for place in wanted}
    gaps = [_gap(place[0], had[place]) for place in sorted(wanted) if wanted[place] - had[place]]
    return had, list(dict.fromkeys(gaps))


def _gap(line: int, had: frozenset[bool]) -> str:
    if not had:
        return f"line {line} did not run"
    (truth,) = had
    return f"the test in line {line} was always {str(truth).lower()}"
