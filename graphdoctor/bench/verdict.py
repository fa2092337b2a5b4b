"""The result of a benchmark: whether compiling pays, how, and after how many steps. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphdoctor.bench.against_eager import Comparison, against_eager, apart, eager_timing
from graphdoctor.bench.units import seconds, steps, times
from graphdoctor.model.benchmark import Bench

#: A gain below this share is within what a change of the machine's load makes.
_LEAST_GAIN = 1.05


@dataclass(frozen=True)
class Verdict:
    """One sentence; ``worth`` is None where the measurements do not suffice.

    ``best`` names the strategy to compile with, ``speedup`` how many times as fast as eager it is, and ``steps`` after
    how many its compilation is paid back.
    """

    worth: bool | None
    sentence: str
    best: str | None = None
    speedup: float | None = None
    steps: int | None = None


def verdict(bench: Bench) -> Verdict:
    """The strategy with the shortest step of those that are faster than eager for sure.

    For sure: by 5 %, and with quartiles that do not overlap eager's. Only strategies count that compiled something and
    whose outputs equal eager's or cannot be compared. How long they compile decides nothing: it is said in steps.
    """
    usable = _usable(bench)
    eager = eager_timing(bench)
    if eager is None or not usable:
        return Verdict(None, "Nothing to compare: " + _missing(bench))
    faster = [c for c in usable if c.standing == "faster" and c.factor >= _LEAST_GAIN]
    if faster:
        return _worth(bench, faster)
    unclear = [c for c in usable if c.standing == "cannot tell" and c.at_best >= _LEAST_GAIN]
    step = f"a step against {seconds(eager.median)}"
    if unclear:
        best = _fastest(unclear)
        return Verdict(
            None,
            f"Cannot tell: {best.result.strategy} takes {seconds(best.timing.median)} {step} in eager, and the "
            "quartiles of the two overlap; measure on a machine with less load, or longer with --seconds",
        )
    best = _fastest(usable)
    name = f"Not worth compiling: {best.result.strategy} is the fastest"
    if best.standing == "cannot tell":
        gain = f"{100 * (_LEAST_GAIN - 1):.0f} %"
        return Verdict(
            False, f"{name} and as fast as eager ({seconds(best.timing.median)} {step}): no gain of {gain} is possible"
        )
    sentence = f"{name} and {times(best.factor)} times as fast as eager ({seconds(best.timing.median)} {step})"
    if best.steps is not None:
        sentence += f"; its compilation ({_cold(best)}) is paid back only after {steps(best.steps)}"
    return Verdict(False, sentence)


def _usable(bench: Bench) -> list[Comparison]:
    # "cache" runs what "default" runs; only its compile time is another.
    results = [r for r in bench.results if r.strategy != "cache" and r.equal is not False and r.compilations != 0]
    return [found for result in results if (found := against_eager(bench, result)) is not None]


def _fastest(compared: Sequence[Comparison]) -> Comparison:
    return max(compared, key=lambda found: found.factor)


def _worth(bench: Bench, faster: Sequence[Comparison]) -> Verdict:
    best, eager = _fastest(faster), eager_timing(bench)
    assert eager is not None
    name = best.result.strategy
    sentence = (
        f"Compile with the strategy {name}: {times(best.factor)} times as fast as eager "
        f"({seconds(best.timing.median)} a step against {seconds(eager.median)})"
    )
    if best.steps is not None:
        sentence += f"; its compilation ({_cold(best)}) is paid back after {steps(best.steps)}"
        loaded = next((r.cold for r in bench.results if r.strategy == "cache" and r.cold is not None), None)
        if name == "default" and loaded is not None and loaded < (best.result.cold or 0):
            sentence += f", and takes {seconds(loaded)} with saved cache artifacts"
    sooner = [c for c in faster if c.steps is not None and not apart(c.timing, best.timing) and _sooner(c, best)]
    if sooner:
        other = min(sooner, key=lambda found: found.result.cold or 0)
        sentence += (
            f"; {other.result.strategy} cannot be told from it ({seconds(other.timing.median)} a step), compiles in "
            f"{_cold(other)} and is paid back after {steps(other.steps or 0)}"
        )
    return Verdict(True, sentence, name, best.factor, best.steps)


def _sooner(one: Comparison, other: Comparison) -> bool:
    return (one.result.cold or 0) < (other.result.cold or 0)


def _cold(found: Comparison) -> str:
    return seconds(found.result.cold or 0)


def _missing(bench: Bench) -> str:
    eager = next((result for result in bench.results if result.strategy == "eager"), None)
    if eager is None or eager.timing is None:
        return f"eager was not timed ({eager.detail})" if eager and eager.detail else "eager was not timed"
    if wrong := [result.strategy for result in bench.results if result.equal is False]:
        return f"the outputs of {', '.join(wrong)} differ from eager's"
    timed = [result.strategy for result in bench.results if result.timing and result.strategy != "eager"]
    return f"nothing was compiled by {', '.join(timed)}" if timed else "no compiled strategy was timed"
