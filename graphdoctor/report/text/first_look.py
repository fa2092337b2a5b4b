"""What is known so far, in a few lines, while the scan goes on: the report that comes at the end has all of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphdoctor.report.escaping import one_line
from graphdoctor.report.wording import plural

if TYPE_CHECKING:
    from graphdoctor.model.findings import Finding, Summary
    from graphdoctor.model.runs import DynamicRun

#: Findings, or places, that are listed.
_SHOWN = 5
#: Seconds: what comes after a verdict that took less does not take long either.
_QUICK = 5


def lines(findings: Sequence[Finding]) -> list[str]:
    """A line with their number, and the first of ``findings``, which are ranked; nothing where there are none."""
    if not findings:
        return []
    first = [f"  {f.location.path}:{f.location.line}: {f.rule} {one_line(f.message)}" for f in findings[:_SHOWN]]
    more = [f"  ... and {len(findings) - _SHOWN} more"] if len(findings) > _SHOWN else []
    return [
        f"graphdoctor: static analysis: {plural(len(findings), 'finding')} so far; now the code is run",
        *first,
        *more,
    ]


def verdict(summary: Summary, runs: Sequence[DynamicRun], seconds: float) -> list[str]:
    """The verdict of ``runs``, which took ``seconds``, with the first graph breaks; nothing where no wait follows."""
    if seconds < _QUICK:
        return []
    broken = dict.fromkeys(
        f"  {entry.path}:{entry.line}: {one_line(entry.gb_type or entry.reason)}"
        for run in runs
        for entry in run.breaks
        if entry.owner == "own"
    )
    more = [f"  ... and {len(broken) - _SHOWN} more"] if len(broken) > _SHOWN else []
    return [
        f"graphdoctor: so far, after {seconds:.0f} s: {summary.headline}",
        *list(broken)[:_SHOWN],
        *more,
        "graphdoctor: checks after the verdict follow; Ctrl-C ends them, and the report has what is known by then",
    ]
