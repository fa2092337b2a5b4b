"""Each target against an earlier fleet: worse, better or the same, and why. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from graphdoctor.diagnosis.compare import Base, compare, new_findings
from graphdoctor.diagnosis.gate import failures
from graphdoctor.model.findings import Diagnosis, Verdict
from graphdoctor.model.fleet import Result, Row
from graphdoctor.report.json_format.reader import read

#: Of verdicts on runs, the better ones later.
_ORDER: tuple[Verdict, ...] = ("not-run", "nothing-compiled", "not-ready", "ready")


def rows(results: Sequence[Result], before: Mapping[str, Result] | None) -> tuple[Row, ...]:
    """One row for each result. ``before`` are the results of the earlier fleet by name; None: there is none."""
    if before is None:
        return tuple(Row(result) for result in results)
    return tuple(_row(result, before.get(result.name)) for result in results)


def _row(now: Result, was: Result | None) -> Row:
    if was is None:
        return Row(now, "new")
    if now.outcome != "done" or was.outcome != "done":
        if now.outcome == was.outcome:
            return Row(now, "same")
        if now.outcome == "done":
            return Row(now, "better", "it has a report now")
        return Row(now, "worse", now.detail) if was.outcome == "done" else Row(now, "same")
    if now.report == was.report:
        return Row(now, "same")
    return _compared(now, read(was.report), read(now.report))


def _compared(now: Result, was: Diagnosis, head: Diagnosis) -> Row:
    comparison = compare(Base("the earlier fleet", was), head)
    head = replace(head, comparison=comparison)
    worse = failures(head, "new")
    step = _step(was.summary.verdict, head.summary.verdict)
    verdicts = f"{was.summary.verdict} before, {head.summary.verdict} now"
    if worse or step < 0:
        first = next((f"{f.location.path}:{f.location.line} {f.rule}" for f in new_findings(head)), "")
        return Row(now, "worse", "; ".join(filter(None, [verdicts if step < 0 else "", *worse, first])))
    if step > 0 or comparison.fixed:
        fixed = f"{len(comparison.fixed)} fixed" if comparison.fixed else ""
        return Row(now, "better", "; ".join(filter(None, [verdicts if step > 0 else "", fixed])))
    return Row(now, "same")


def _step(was: Verdict, now: Verdict) -> int:
    """Above zero where the verdict got better; zero where one of the two ran nothing."""
    if "static-only" in (was, now):
        return 0
    return _ORDER.index(now) - _ORDER.index(was)
