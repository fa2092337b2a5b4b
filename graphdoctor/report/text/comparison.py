"""The terminal text of ``graphdoctor compare``: what is new and what is fixed, one line each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphdoctor.diagnosis.compare import new_findings
from graphdoctor.report import wording
from graphdoctor.report.comparison import compared
from graphdoctor.report.escaping import one_line, printable

if TYPE_CHECKING:
    from graphdoctor.model.findings import Diagnosis, Finding


def render(diagnosis: Diagnosis) -> str:
    """The numbers of the comparison, what is new, what is fixed; ``diagnosis`` was compared."""
    return "\n".join(lines(printable(diagnosis))) + "\n"


def lines(shown: Diagnosis) -> Iterator[str]:
    """The lines of ``render`` for a diagnosis that may be shown; none where nothing was compared."""
    if shown.comparison is None:
        return
    yield one_line(compared(shown.comparison))
    yield from (_line("new", finding) for finding in new_findings(shown))
    yield from (_line("fixed", finding) for finding in shown.comparison.fixed)


def _line(kind: str, finding: Finding) -> str:
    place = finding.location
    rule = f"{wording.SEVERITIES[finding.severity]} {finding.rule} [{finding.name}]"
    allowed = f" (allowed: {finding.allowed})" if finding.allowed else ""
    text = one_line(f"{place.path}:{place.line}:{place.column}: {rule} {finding.message}{allowed}")
    return f"  {kind:<5} {text}"
