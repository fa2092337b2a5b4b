"""A benchmark as one HTML page in the style of the report, its plots as inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphdoctor.bench.units import seconds
from graphdoctor.bench.verdict import verdict
from graphdoctor.model.benchmark import Bench, Result
from graphdoctor.report.html.page import asset, environment, policy
from graphdoctor.report.measurements.bench_rows import HEADINGS, caption, heading, rows

#: Width of the widest bar in units of the drawing; the labels stand left of the bars, the values right of them.
_WIDTH = 560
_LEFT = 210
_ROW = 30


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
    """Horizontal bars that start at ``left``, on a common scale from zero."""

    title: str
    bars: tuple[Bar, ...]
    left: int = _LEFT
    total: int = _LEFT + _WIDTH + 130

    @property
    def height(self) -> int:
        """The height of the drawing in pixels."""
        return _ROW * len(self.bars) + 6


def render(bench: Bench) -> str:
    """The whole page: it makes no request, and is readable without JavaScript and by keyboard."""
    found = verdict(bench)
    assets = {name: asset(name) for name in ("style.css", "bench/bench.css", "theme.js", "bench/bench.js")}
    tone = {True: "good", False: "neutral", None: "bad"}[found.worth]
    return (
        environment()
        .get_template("bench/bench.html")
        .render(
            bench=bench,
            sentence=found.sentence,
            best=found.best,
            tone=tone,
            heading=heading(bench),
            caption=caption(bench),
            headings=HEADINGS,
            rows=rows(bench),
            plots=[plot for plot in (_steps(bench), _cold(bench)) if plot.bars],
            assets=assets,
            policy=policy(
                assets["style.css"] + assets["bench/bench.css"], assets["theme.js"], assets["bench/bench.js"]
            ),
        )
    )


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
    scale = _WIDTH / max((value for _, value, _ in found), default=1.0)
    return Plot("Seconds of compiling, cold and warm", _plain(found, scale))


def _compile_times(result: Result) -> list[tuple[str, float, str]]:
    times = [("cold", result.cold, "accent"), ("warm", result.warm, "info")]
    return [(f"{result.strategy}, {name}", value, tone) for name, value, tone in times if value is not None]


def _plain(found: Sequence[tuple[str, float, str]], scale: float) -> tuple[Bar, ...]:
    return tuple(
        Bar(label, seconds(value), number * _ROW, value * scale, tone)
        for number, (label, value, tone) in enumerate(found)
    )
