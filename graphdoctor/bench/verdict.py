"""What a benchmark comes to: whether compiling pays, how, and after how many steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

from graphdoctor.model.benchmark import Bench, Result, Timing

#: A gain below this share of eager's time is within the noise of such measurements.
_LEAST_GAIN = 0.05


@dataclass(frozen=True)
class Verdict:
    """One sentence; ``worth`` is None where the measurements do not suffice. ``best`` names a strategy."""

    worth: bool | None
    sentence: str
    best: str | None = None


def verdict(bench: Bench) -> Verdict:
    """Of the strategies with outputs equal to eager's, or not comparable, the fastest, if it beats eager clearly.

    Clearly: by 5 %, and by more than the quartiles scatter. Of those whose quartiles meet the fastest one's, the one
    that compiles soonest.
    """
    eager = next((result.timing for result in bench.results if result.strategy == "eager"), None)
    # "cache" runs what "default" runs; only its compile time is another.
    compiled = [r for r in bench.results if r.strategy not in ("eager", "cache")]
    timed = [r for r in compiled if r.timing is not None and r.equal is not False]
    if eager is None or not timed:
        return Verdict(None, "Nothing to compare: " + _missing(bench))
    fastest = min(timed, key=lambda result: _timing(result).median)
    even = [r for r in timed if _timing(r).low <= _timing(fastest).high]
    best = min(even, key=lambda result: math.inf if result.cold is None else result.cold)
    timing = _timing(best)
    factor = eager.median / timing.median
    if factor < 1 + _LEAST_GAIN:
        return Verdict(False, f"Not worth compiling: {best.strategy} takes {100 / factor:.0f} % of eager's time")
    if timing.high >= eager.low:
        sentence = (
            f"Not clear: {best.strategy} is {factor:.2f} times as fast as eager, but the quartiles of the two overlap"
        )
        return Verdict(None, sentence + "; measure on a machine with less load, or longer with --seconds")
    sentence = f"Compile with the strategy {best.strategy}: {factor:.2f} times as fast as eager"
    if best.cold is not None:
        steps = math.ceil(best.cold / (eager.median - timing.median))
        sentence += f"; the first compilation ({best.cold:.1f} s) is paid back after {steps:,} steps"
        loaded = next((r.cold for r in bench.results if r.strategy == "cache" and r.cold is not None), None)
        if best.strategy == "default" and loaded is not None and loaded < best.cold:
            sentence += f", and takes {loaded:.1f} s with saved cache artifacts"
    return Verdict(True, sentence, best.strategy)


def speedup(bench: Bench, result: Result) -> float | None:
    """How many times as fast as eager, where both were timed."""
    eager = next((r.timing for r in bench.results if r.strategy == "eager"), None)
    return eager.median / result.timing.median if eager and result.timing else None


def _timing(result: Result) -> Timing:
    assert result.timing is not None
    return result.timing


def _missing(bench: Bench) -> str:
    eager = next((result for result in bench.results if result.strategy == "eager"), None)
    if eager is None or eager.timing is None:
        return f"eager was not timed ({eager.detail})" if eager and eager.detail else "eager was not timed"
    wrong = [result.strategy for result in bench.results if result.equal is False]
    return f"the outputs of {', '.join(wrong)} differ from eager's" if wrong else "no compiled strategy was timed"
