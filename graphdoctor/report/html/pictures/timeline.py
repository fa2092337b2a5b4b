"""The calls of a sweep in order: which of them compiled, and what had changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphdoctor.report.wording import plural

if TYPE_CHECKING:
    from graphdoctor.model.runs import DynamicRun, Sweep

#: Size of a call in the drawing, and the calls in one row.
CELL, ROW = 40, 58
_IN_A_ROW = 8
_MOST = 64


@dataclass(frozen=True)
class Call:
    """A call at its place; ``label`` is what changed, in short."""

    number: int
    x: int
    y: int
    compiles: bool
    title: str


@dataclass(frozen=True)
class Timeline:
    """The calls of one sweep. ``changes`` describes the arguments of the compiling calls."""

    title: str
    width: int
    height: int
    calls: tuple[Call, ...]
    changes: tuple[str, ...]
    detail: str


def timelines(runs: Iterable[DynamicRun]) -> tuple[Timeline, ...]:
    """One for each sweep that recorded its calls; runs that give the same share it."""
    modes: dict[Sweep, dict[str, None]] = {}
    for run in runs:
        for sweep in run.sweeps:
            if sweep.steps:
                modes.setdefault(sweep, {})[run.mode] = None
    return tuple(_timeline(sweep, tuple(found)) for sweep, found in modes.items())


def _timeline(sweep: Sweep, modes: Sequence[str]) -> Timeline:
    calls = []
    known = [mode for mode in modes if mode != "unknown"]
    for number, step in enumerate(sweep.steps[:_MOST]):
        x, y = number % _IN_A_ROW * CELL, number // _IN_A_ROW * ROW
        compiled = plural(step.compilations, "compilation") if step.compilations else "nothing is compiled"
        title = f"call {number + 1}: {compiled}" + (f"; {step.changed}" if step.changed else "")
        calls.append(Call(number + 1, x, y, step.compilations > 0, title))
    again = [c.title for c, step in zip(calls, sweep.steps, strict=False) if c.compiles and c.number > 1 and step]
    every = plural(sum(step.compilations for step in sweep.steps), "compilation")
    most = f"at most {sweep.compilations} of one function"
    counts = f"{every} in {plural(sweep.calls, 'call')}, {most}"
    within = f": {every}, {most}" if sweep.compilations > 1 else ""
    rows = (len(calls) + _IN_A_ROW - 1) // _IN_A_ROW
    return Timeline(
        f"Called with {sweep.varied}" + (f" in {' and '.join(known)} mode" if known else ""),
        min(len(calls), _IN_A_ROW) * CELL,
        rows * ROW,
        tuple(calls),
        (*again, counts) if again else (f"only the first call compiles{within}",),
        sweep.detail,
    )
