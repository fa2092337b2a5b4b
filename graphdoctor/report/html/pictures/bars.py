"""Horizontal bars on a common scale from zero, with a line for the spread: of a benchmark, and of an advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphdoctor.bench.units import seconds
from graphdoctor.report.measurements.advise import rows as advice_rows
from graphdoctor.report.wording import plural

if TYPE_CHECKING:
    from graphdoctor.model.advice import Advice
    from graphdoctor.model.benchmark import Bench, Result

#: Width of the widest bar in units of the drawing, and what the labels left of the bars have at least; the values stand
#: right of them.
_WIDTH = 560
_LEFT = 210
_ROW = 30
#: Width of a character of a label.
_CHARACTER = 7


@dataclass(frozen=True)
class Bar:
    """A bar with its label and value; ``low`` and ``high`` are the ends of the line that shows the spread."""

    label: str
    value: str
    y: int
    width: float
    tone: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Plot:
    """Horizontal bars with a title."""

    title: str
    bars: tuple[Bar, ...]

    @property
    def left(self) -> int:
        """Where the bars begin: right of the longest label."""
        return max([_LEFT, *(_CHARACTER * len(bar.label) + 14 for bar in self.bars)])

    @property
    def total(self) -> int:
        """The width of the drawing in pixels."""
        return self.left + _WIDTH + 130

    @property
    def height(self) -> int:
        """The height of the drawing in pixels."""
        return _ROW * len(self.bars) + 6


def of_bench(bench: Bench) -> tuple[Plot, ...]:
    """The steps with their quartiles, and what compiling takes; without those that have no bar."""
    return tuple(plot for plot in (_steps(bench), _cold(bench)) if plot.bars)


def of_advice(advice: Advice) -> tuple[Plot, ...]:
    """How often each place compiles, and, where the places were timed, the benchmark."""
    counted = [
        (row[0], float(placement.compilations), "accent" if number in advice.proposed else "info")
        for number, (row, placement) in enumerate(zip(advice_rows(advice), advice.placements, strict=True))
        if not placement.failure
    ]
    values = [plural(int(value), "compilation") for _, value, _ in counted]
    compilations = Plot("Compilations by place, the proposed ones filled", _plain(counted, values))
    timed = of_bench(advice.bench) if advice.bench is not None else ()
    return (*([compilations] if len(counted) > 1 else []), *timed)


def _steps(bench: Bench) -> Plot:
    timed = [(result, result.timing) for result in bench.results if result.timing is not None]
    scale = _WIDTH / max((timing.high for _, timing in timed), default=1.0)
    return Plot(
        "Seconds per step",
        tuple(
            Bar(
                result.strategy,
                seconds(timing.median),
                number * _ROW,
                timing.median * scale,
                "info" if result.strategy == "eager" else "accent",
                timing.low * scale,
                timing.high * scale,
            )
            for number, (result, timing) in enumerate(timed)
        ),
    )


def _cold(bench: Bench) -> Plot:
    """Two bars for each strategy: with empty and with filled caches."""
    found: list[tuple[str, float, str]] = []
    for result in bench.results:
        found += _compile_times(result)
    return Plot("Seconds of compiling, cold and warm", _plain(found, [seconds(value) for _, value, _ in found]))


def _compile_times(result: Result) -> list[tuple[str, float, str]]:
    times = [("cold", result.cold, "accent"), ("warm", result.warm, "info")]
    return [(f"{result.strategy}, {name}", value, tone) for name, value, tone in times if value is not None]


def _plain(found: Sequence[tuple[str, float, str]], values: Sequence[str]) -> tuple[Bar, ...]:
    scale = _WIDTH / (max((length for _, length, _ in found), default=0.0) or 1.0)
    return tuple(
        Bar(label, value, number * _ROW, length * scale, tone)
        for number, ((label, length, tone), value) in enumerate(zip(found, values, strict=True))
    )
