"""Choosing fixes one by one: the questions, and what the answers mean. No terminal here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graphdoctor.model.findings import Finding
from graphdoctor.model.labels import explanation, label

QUESTION = "write this fix? [y]es, [n]o, [a]ll that follow, [d]iff, [q]uit: "
_HELP = "answer y (this one), n (not this one), a (this and all that follow), d (show the change), q (no more)"


def choose(findings: Sequence[Finding], ask: Callable[[str], str], tell: Callable[[str], None]) -> tuple[Finding, ...]:
    """The findings whose fixes shall be written. ``ask`` gives the answer to a question, ``tell`` shows a text.

    Ends early on "q"; what was chosen until then stays chosen.
    """
    chosen: list[Finding] = []
    for number, finding in enumerate(findings, 1):
        tell(_heading(finding, number, len(findings)))
        answer = _answer(finding, ask, tell)
        if answer == "a":
            return (*chosen, *findings[number - 1 :])
        if answer == "q":
            break
        if answer == "y":
            chosen.append(finding)
    return tuple(chosen)


def _answer(finding: Finding, ask: Callable[[str], str], tell: Callable[[str], None]) -> str:
    while True:
        answer = ask(QUESTION).strip().lower()[:1]
        if answer in ("y", "n", "a", "q"):
            return answer
        tell(finding.fix.diff if answer == "d" and finding.fix is not None else _HELP)


def _heading(finding: Finding, number: int, count: int) -> str:
    place = f"{finding.location.path}:{finding.location.line}"
    fix = finding.fix
    assumes = "" if fix is None or not fix.assumes else f"Verified for {fix.assumes}."
    kind = "" if fix is None else f"\n  {label(fix)} fix. {' '.join(filter(None, [explanation(fix), assumes]))}"
    return f"\n[{number}/{count}] {place}: {finding.rule} [{finding.name}] {finding.message}{kind}"
