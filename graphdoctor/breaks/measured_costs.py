"""What a graph break costs: the prediction from the source, and how a run corrects it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from graphdoctor.model.consequence import FAILS, NOTHING, SPLIT, Consequence

if TYPE_CHECKING:
    from graphdoctor.model.findings import Finding
    from graphdoctor.model.runs import Break

#: The kinds that are predictions from the source. A run corrects these and no others.
_PREDICTED = ("split", "whole", "rest")


def given_up(finding: Finding) -> str:
    """The function that is not compiled at all because of the break: a loop around the call may be a caller's."""
    cost = finding.consequence
    return cost.function if cost is not None and cost.kind == "whole" else finding.function


def not_reached_yet(cost: Consequence | None, line: int) -> Consequence:
    """``cost`` of a finding that compiling did not reach, because it ended at ``line``."""
    if cost is None:
        return Consequence("waits", line=line)
    return Consequence("later", line=line) if _is_predicted(cost) else replace(cost, line=line)


def waits_for(finding: Finding) -> int:
    """The line at which compiling ended before it reached ``finding``; 0 where it did not end before."""
    return finding.consequence.line if finding.consequence is not None else 0


def measured(cost: Consequence | None, functions: Sequence[str]) -> Consequence | None:
    """``cost`` of a break for which a run saw ``functions`` given up as a whole, callers first."""
    if cost is None or not functions or not _is_predicted(cost):
        return cost
    known = cost.kind == "whole" and cost.function in functions
    return replace(cost, behind=0) if known else Consequence("whole", functions[-1])


def measured_rest(cost: Consequence | None, function: str) -> Consequence | None:
    """``cost`` of a break at which a run saw the rest of ``function`` given up, behind an earlier break."""
    if cost is None or cost.kind not in ("split", "whole"):
        return cost
    return Consequence("left", function)


def split(cost: Consequence | None, places: int = 1) -> Consequence | None:
    """``cost`` of a break at which a run saw the graph split, and no function given up.

    Whether Dynamo gives up what has a loop depends on the bytecode after the break: before a `return` it goes on.
    ``places`` is the number of places that broke, where the called function breaks at several.
    """
    if cost is None or not _is_predicted(cost):
        return cost
    if places > 1:
        return Consequence("split", places=places)
    return SPLIT if cost.kind == "whole" else replace(cost, behind=0)


def with_lines(cost: Consequence | None, shown: Callable[[int], int]) -> Consequence | None:
    """``cost`` with the lines that it names as ``shown`` gives them."""
    if cost is None:
        return None
    block = cost.block and replace(cost.block, line=cost.block.line and shown(cost.block.line))
    return replace(cost, block=block, line=cost.line and shown(cost.line), behind=cost.behind and shown(cost.behind))


def behind(cost: Consequence | None, line: int) -> Consequence | None:
    """``cost`` of a break in a function of which nothing is compiled after ``line``, which runs before."""
    return replace(cost, behind=line) if cost is not None and _is_predicted(cost) else cost


def with_fullgraph(cost: Consequence | None) -> Consequence | None:
    """``cost`` of a break in code that is compiled with ``fullgraph=True`` only: there it is an error."""
    return FAILS if _is_predicted(cost) else cost


def where_recorded(cost: Consequence | None, fullgraph: bool) -> Consequence | None:
    """``cost`` of a line that fails only with ``fullgraph=True``, where a setting lets Dynamo record the number or size
    by default too.
    """
    return (FAILS if fullgraph else SPLIT) if cost is not None and cost.kind == "recorded" else cost


def unmeasured(cost: Consequence | None) -> Consequence | None:
    """``cost`` predicted where no run compiled anything: nothing was split, and nothing ran uncompiled."""
    return NOTHING if _is_predicted(cost) else cost


def reason_once(findings: Iterable[Finding]) -> Iterator[Finding]:
    """``findings``, where only the first one of a function says why nothing of the function is compiled."""
    explained: set[tuple[str, Consequence]] = set()
    for finding in findings:
        cost = finding.consequence
        if cost is None or cost.kind != "whole" or cost.block is None:
            yield finding
            continue
        reason = (finding.location.path, cost)
        yield replace(finding, consequence=replace(cost, block=None)) if reason in explained else finding
        explained.add(reason)


def _is_predicted(cost: Consequence | None) -> bool:
    return cost is not None and cost.kind in _PREDICTED


def is_rest_alone(breaks: Iterable[Break]) -> bool:
    """Whether all that was given up because of ``breaks`` is the rest of functions that were split before."""
    given_up = [entry for entry in breaks if entry.whole_frame]
    return bool(given_up) and all(entry.rest for entry in given_up)


def site_of(brk: Break) -> tuple[object, ...]:
    """The key of a break site: its place and cause, and for a break in a library also the place there."""
    inner = brk.stack[-1] if brk.owner == "third-party" and brk.stack else None
    return (brk.path, brk.line, brk.column, brk.gb_id or brk.gb_type, inner)
