"""What the source shows, in a few lines, while the code is run: the report that comes at the end has all of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphdoctor.report.escaping import one_line
from graphdoctor.report.wording import plural

if TYPE_CHECKING:
    from graphdoctor.model.findings import Finding

#: Findings that are listed.
_SHOWN = 5


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
