"""Comments that silence nothing: a finding GD002 for each. Pure.

Such a comment hides the next finding of its line. It is reported only where the scan can know: the rules saw the
statement, every rule that the comment names was active, and no run that was left out could find something there. What
silences everything is never reported, and neither are the codes of other tools.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from graphdoctor.model.findings import Finding, Location
from graphdoctor.source.suppressions import EVERYTHING, Suppression, matches

CODE, NAME = "GD002", "unused-suppression"
_OURS = re.compile(r"GD[0-9]+", re.IGNORECASE)


@dataclass(frozen=True)
class Known:
    """A code that a comment may name. ``at_run``: a run can find it where the static pass does not."""

    code: str
    name: str
    at_run: bool


@dataclass(frozen=True)
class Scope:
    """What a scan can know. ``judged`` are the lines that begin a statement the rules saw, by file.

    ``unrun`` are the files that a run could say more of.
    """

    known: Sequence[Known]
    enabled: Callable[[str, str, str], bool]
    judged: Mapping[str, Set[int]]
    unrun: Collection[str]


def unused(
    findings: Sequence[Finding], silenced: Mapping[str, Sequence[Suppression]], scope: Scope
) -> tuple[Finding, ...]:
    """One finding for each comment with codes that silence nothing; ``findings`` are all, before any are left out."""
    found = []
    codes = {code for path in scope.judged for suppression in silenced.get(path, ()) for code in suppression.codes}
    meant = {code: [known for known in scope.known if matches(known.code, known.name, code)] for code in codes}
    for path in scope.judged:
        here = [f for f in findings if f.location.path == path]
        for suppression in silenced.get(path, ()):
            reasons = list(_reasons(suppression, path, here, scope, meant))
            if reasons:
                found.append(_finding(suppression, path, reasons))
    return tuple(found)


def _reasons(
    suppression: Suppression,
    path: str,
    findings: Sequence[Finding],
    scope: Scope,
    meant: Mapping[str, Sequence[Known]],
) -> Iterator[tuple[str, str]]:
    """(code, why it silences nothing) for the codes of one comment; ``meant`` has what each of them names."""
    for code in suppression.codes:
        if code.upper() in (EVERYTHING, "ALL"):
            continue
        if not meant[code]:
            if _OURS.fullmatch(code):
                yield code, f"no rule is called {code}"
        elif suppression.last == 0:
            yield code, "the comment stands on a line of its own, and holds for the statement on its line"
        elif suppression.last is not None and _is_unused(
            suppression, suppression.last, path, meant[code], findings, scope
        ):
            yield code, f"{code} finds nothing here"


def _is_unused(
    suppression: Suppression,
    last: int,
    path: str,
    meant: Sequence[Known],
    findings: Sequence[Finding],
    scope: Scope,
) -> bool:
    codes = {known.code for known in meant}
    if any(f.rule in codes and suppression.covers(f.location.line) for f in findings):
        return False
    if not all(scope.enabled(known.code, known.name, path) for known in meant):
        return False
    if path in scope.unrun and any(known.at_run for known in meant):
        return False
    return any(suppression.first <= line <= last for line in scope.judged[path])


def _finding(suppression: Suppression, path: str, reasons: Sequence[tuple[str, str]]) -> Finding:
    codes = ", ".join(code for code, _ in reasons)
    why = "; ".join(dict.fromkeys(reason for _, reason in reasons))
    return Finding(
        rule=CODE,
        name=NAME,
        severity="warning",
        confidence="certain",
        location=Location(path, suppression.line, suppression.column, suppression.line, suppression.end_column),
        function="<module>",
        fact=f"this comment silences nothing: {why}",
        why="A comment that silences nothing hides what the rule will find on this line one day.",
        suggestion=f"remove {codes} from the comment",
    )
