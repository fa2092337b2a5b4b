"""A fleet as words and numbers: what its text and its page show."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from graphdoctor.model.fleet import Fleet, Row
from graphdoctor.report.escaping import one_line, visible
from graphdoctor.report.wording import plural

#: The states of a target in the order of the summary: the verdict of its scan, or how it ended without a report.
STATES = (
    "ready", "not-ready", "nothing-compiled", "not-run", "static-only", "failed", "timeout", "memory", "crashed",
)  # fmt: skip
HEADINGS = ("target", "state", "breaks", "own", "graphs", "errors", "warnings", "fixable", "seconds", "MiB")


@dataclass(frozen=True)
class Line:
    """A row under HEADINGS, a number or None in each but the first two columns; ``detail`` is a sentence about it."""

    name: str
    state: str
    numbers: tuple[float | None, ...]
    detail: str
    trend: str
    page: str


def state(row: Row) -> str:
    """The verdict, or how it ended without one."""
    return row.result.summary.verdict if row.result.summary else row.result.outcome


def line(row: Row) -> Line:
    """What is shown of a row."""
    result, summary = row.result, row.result.summary
    counts = (
        (summary.breaks, summary.breaks_own, summary.graphs, summary.errors, summary.warnings, summary.fixable)
        if summary
        else (None,) * 6
    )
    detail = row.reason or (summary.headline if summary else result.detail)
    numbers = (*counts, round(result.seconds, 1), result.memory_mb or None)
    return Line(result.name, state(row), numbers, one_line(visible(detail)), row.trend, result.page)


def headline(fleet: Fleet) -> str:
    """How many targets are in which state, and how many got worse."""
    counts = Counter(state(row) for row in fleet.rows)
    states = ", ".join(f"{counts[name]:,} {name}" for name in STATES if counts[name])
    detail = f"{plural(len(fleet.rows), 'target')}: {states}" if fleet.rows else "no target has a result"
    if fleet.against:
        trends = Counter(row.trend for row in fleet.rows)
        detail += f"; against {fleet.against}: " + ", ".join(
            f"{trends[name]:,} {name}" for name in ("worse", "better", "same", "new") if trends[name]
        )
    return detail + (f"; {plural(len(fleet.missing), 'target')} not scanned yet" if fleet.missing else "")
