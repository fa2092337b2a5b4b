"""Breaks in a library's function that a finding names at the user's call, which is what can be changed. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphdoctor.model.findings import Finding
    from graphdoctor.model.runs import Break, DynamicRun


def with_own_calls(runs: Sequence[DynamicRun], findings: Iterable[Finding]) -> tuple[DynamicRun, ...]:
    """``runs`` in which such breaks belong to the user's code; all others in libraries stay theirs."""
    found = [finding for finding in findings if finding.owner == "own" and finding.gb_ids]

    def owned(brk: Break) -> Break:
        is_own = brk.owner == "third-party" and any(_names_call(finding, brk) for finding in found)
        return replace(brk, owner="own") if is_own else brk

    return tuple(replace(run, breaks=tuple(map(owned, run.breaks))) for run in runs)


def _names_call(finding: Finding, brk: Break) -> bool:
    """Whether ``finding`` is about the call by which the user's line came to the function of the library."""
    place = finding.location
    if place.path != brk.path or not place.line <= brk.line <= place.end_line or brk.gb_id not in finding.gb_ids:
        return False
    way_in = [n for n, frame in enumerate(brk.stack[:-1]) if (frame.path, frame.line) == (brk.path, brk.line)]
    if not way_in:
        return False
    called = brk.stack[way_in[-1] + 1].function
    return re.match(rf"`(?:\w+\.)*{re.escape(called)}\(", finding.message) is not None
