"""A diagnosis in a few lines: what a prompt shows of a result, and a notebook below a cell."""

from __future__ import annotations

from collections.abc import Iterator

from graphdoctor.model.findings import Diagnosis, Finding
from graphdoctor.model.labels import is_offered
from graphdoctor.report.escaping import one_line, printable
from graphdoctor.report.html.page import environment

#: Findings that are shown; the rest is counted.
_MOST = 10


def lines(diagnosis: Diagnosis) -> Iterator[str]:
    """The headline, and a line for each of the first findings and recompiles."""
    shown = printable(diagnosis)
    yield one_line(shown.summary.headline)
    items = [*map(_finding, shown.findings), *_recompiles(shown)]
    yield from (f"  {item}" for item in items[:_MOST])
    if len(items) > _MOST:
        yield f"  ... and {len(items) - _MOST} more"


def _finding(finding: Finding) -> str:
    place = finding.location
    fix = f" [{finding.fix.safety} fix]" if finding.fix is not None and is_offered(finding) else ""
    return f"{place.path}:{place.line}:{place.column}: {finding.rule} {one_line(finding.message)}{fix}"


def _recompiles(shown: Diagnosis) -> Iterator[str]:
    for run in shown.dynamic or ():
        for recompile in run.recompiles:
            yield f"{recompile.path}:{recompile.line}: recompiles: {one_line(recompile.cause)}"


def fragment(diagnosis: Diagnosis) -> str:
    """A part of a page, without scripts and with styles of its own elements only. Jinja2 escapes every value."""
    shown = printable(diagnosis)
    template = environment().get_template("brief.html")
    ready = shown.summary.verdict == "ready"
    return template.render(diagnosis=shown, ready=ready, most=_MOST, offered=is_offered)
