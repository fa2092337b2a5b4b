"""Breaks in a library's function that a finding names at the user's call, which is what can be changed. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from graphdoctor.source.text import split_lines

if TYPE_CHECKING:
    from graphdoctor.model.findings import Finding, Location
    from graphdoctor.model.runs import Break, DynamicRun


def with_own_calls(
    runs: Sequence[DynamicRun], findings: Iterable[Finding], texts: Mapping[str, str]
) -> tuple[DynamicRun, ...]:
    """``runs`` in which such breaks belong to the user's code; all others in libraries stay theirs.

    ``texts`` are the sources that ``findings`` are about, by shown path.
    """
    found = [finding for finding in findings if finding.owner == "own" and finding.gb_ids]

    def owned(brk: Break) -> Break:
        is_own = brk.owner == "third-party" and any(_names_call(finding, brk, texts) for finding in found)
        return replace(brk, owner="own") if is_own else brk

    def owned_in(run: DynamicRun) -> DynamicRun:
        sweeps = (replace(sweep, breaks=tuple(map(owned, sweep.breaks))) for sweep in run.sweeps)
        return replace(run, breaks=tuple(map(owned, run.breaks)), sweeps=tuple(sweeps))

    return tuple(map(owned_in, runs))


def _names_call(finding: Finding, brk: Break, texts: Mapping[str, str]) -> bool:
    """Whether ``finding`` is about the call by which the user's line came to the function of the library."""
    place = finding.location
    if place.path != brk.path or not place.line <= brk.line <= place.end_line or brk.gb_id not in finding.gb_ids:
        return False
    way_in = [n for n, frame in enumerate(brk.stack[:-1]) if (frame.path, frame.line) == (brk.path, brk.line)]
    if not way_in:
        return False
    called = brk.stack[way_in[-1] + 1].function
    return _called(place, texts.get(place.path, "")) == called


def _called(place: Location, text: str) -> str | None:
    """The last name of the function that is called at ``place``; None where there is no call of a name."""
    lines = split_lines(text)[place.line - 1 : place.end_line]
    if not lines:
        return None
    lines[-1] = lines[-1][: place.end_column - 1]
    lines[0] = lines[0][place.column - 1 :]
    try:
        call = ast.parse("\n".join(lines), mode="eval").body
    except SyntaxError:
        return None
    function = call.func if isinstance(call, ast.Call) else None
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
