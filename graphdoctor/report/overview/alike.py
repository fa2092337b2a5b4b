"""Findings that say the same of several lines of one function: reports show the first, and name the other lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from graphdoctor.model.labels import is_offered, label
from graphdoctor.report.escaping import one_line
from graphdoctor.report.excerpt import marked_line
from graphdoctor.report.wording import enumerated, plural

if TYPE_CHECKING:
    from graphdoctor.model.findings import Finding

#: Letters of the code that stands for a finding, and how many findings are shown by their code.
_CODE = 40
_BY_CODE = 6


def together(findings: Iterable[Finding]) -> list[list[Finding]]:
    """``findings`` in groups, each at the place of its first: those of one rule in one function with the same advice,
    and where a run saw them with the same verdict and cost. What costs a whole function, and says why, comes first.
    """
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        groups.setdefault(_key(finding), []).append(finding)
    return [sorted(alike, key=_cost) for alike in groups.values()]


def _cost(finding: Finding) -> tuple[bool, bool, bool]:
    cost = finding.consequence
    behind = cost is not None and cost.behind > 0
    return behind, not finding.whole_frame, cost is None or cost.block is None


def _key(finding: Finding) -> tuple[object, ...]:
    what = finding.rule, finding.location.path, finding.function, finding.why, finding.suggestion
    how = finding.severity, finding.status, finding.owner, finding.allowed
    if finding.status == "static-only":
        return *what, *how
    fix = is_offered(finding, owner=None) and finding.fix is not None and (label(finding.fix), finding.fix.detail)
    return *what, *how, finding.whole_frame, finding.events, finding.consequence, fix


def others(alike: Sequence[Finding]) -> str:
    """``lines 272 and 275``, or with their code where it differs: ``line 285 `classes[keep]`, ...``; of all but the
    first.
    """
    rest = alike[1:]
    codes = {code_at(finding) for finding in alike}
    by_code = len(codes) > 1 and "" not in codes
    if not by_code:
        return _lines([finding.location.line for finding in rest])
    shown = [f"line {finding.location.line} `{code_at(finding)}`" for finding in rest[:_BY_CODE]]
    more = [finding.location.line for finding in rest[_BY_CODE:]]
    return ", ".join(shown) + (f", and {_lines(more)}" if more else "")


def _lines(lines: Sequence[int]) -> str:
    each = [str(line) for line in dict.fromkeys(lines)]
    # Several findings may stand on one line.
    twice = f" ({plural(len(lines), 'place')})" if len(each) < len(lines) else ""
    return f"line{'s' if len(each) > 1 else ''} {enumerated(each)}{twice}"


def code_at(finding: Finding) -> str:
    """The code at the place in one line, cut where it is long; empty where it is not known, or has backticks."""
    source = marked_line(finding)
    code = one_line(source.marked) if source is not None else ""
    return "" if "`" in code else code if len(code) <= _CODE else code[: _CODE - 3] + "..."
