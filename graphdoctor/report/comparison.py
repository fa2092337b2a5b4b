"""How a diagnosis differs from its base: one wording for every report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from graphdoctor.diagnosis.compare import new_findings
from graphdoctor.diagnosis.recompile_causes import recompile_causes
from graphdoctor.report.wording import plural

if TYPE_CHECKING:
    from graphdoctor.model.findings import Comparison, Diagnosis, Summary
    from graphdoctor.model.runs import DynamicRun


def compared(comparison: Comparison) -> str:
    """``Against main: 1 new, 2 fixed, 3 unchanged``, and what could not be compared."""
    counts = f"{len(comparison.new):,} new, {len(comparison.fixed):,} fixed, {len(comparison.unchanged):,} unchanged"
    return f"Against {comparison.base}: {counts}{not_compared(comparison)}"


def not_compared(comparison: Comparison) -> str:
    """``, 2 not compared: one side was not run or not read``, or nothing."""
    missing = comparison.not_compared
    return f", {missing:,} not compared: one side was not run or not read" if missing else ""


def change_title(diagnosis: Diagnosis) -> str:
    """What a change does: ``7 graph breaks before, 2 now; 3 new findings, 7 fixed``; empty without a base."""
    comparison = diagnosis.comparison
    if comparison is None:
        return ""
    new = new_findings(diagnosis)
    parts = [plural(len(new), "new finding") if new else "no new findings"]
    seen = sum(finding.status in ("confirmed", "dynamic-only") for finding in new)
    if diagnosis.dynamic is not None and 0 < seen < len(new):
        parts[0] += f" ({seen:,} seen in the run, {len(new) - seen:,} predicted)"
    parts += [f"{len(comparison.fixed):,} fixed"] if comparison.fixed else []
    parts += [f"{len(comparison.unchanged):,} unchanged"] if comparison.unchanged else []
    text = "; ".join([*_before_and_now(diagnosis.summary, comparison, diagnosis.dynamic or ()), ", ".join(parts)])
    return text[:1].upper() + text[1:]


def _before_and_now(now: Summary, base: Comparison, runs: Iterable[DynamicRun]) -> Iterator[str]:
    """What both sides measured."""
    before = base.summary.breaks
    if before is None or now.breaks is None:
        return
    yield f"{plural(before, 'graph break')} before, {now.breaks:,} now"
    causes, were = cause_count(runs), cause_count(base.dynamic or ())
    if causes != were:
        yield f"{plural(were, 'recompile cause')} before, {causes:,} now"
    elif causes:
        yield f"{plural(causes, 'recompile cause')} as before"


def cause_count(runs: Iterable[DynamicRun]) -> int:
    """The causes of recompiles, each once."""
    return len(recompile_causes(runs))
