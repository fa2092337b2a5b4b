"""One compiled strategy beside eager: its gain in the steady state, and when its compilation is paid back. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from graphdoctor.model.benchmark import Bench, Result, Timing

#: By the quartiles of both: whether half of the steps of the one lie apart from half of those of the other.
Standing = Literal["faster", "slower", "cannot tell"]


@dataclass(frozen=True)
class Comparison:
    """A ``result`` with its ``timing``. ``factor``: how many times as fast as eager, by the medians.

    ``at_best`` is the factor that the quartiles still allow. ``steps`` pay the compilation back; None where there is no
    gain to pay it from, or where none was measured.
    """

    result: Result
    timing: Timing
    factor: float
    at_best: float
    standing: Standing
    steps: int | None


def eager_timing(bench: Bench) -> Timing | None:
    """How long a step takes without torch.compile."""
    return next((result.timing for result in bench.results if result.strategy == "eager"), None)


def against_eager(bench: Bench, result: Result) -> Comparison | None:
    """None for eager itself, and where one of the two was not timed."""
    eager, timing = eager_timing(bench), result.timing
    if eager is None or timing is None or result.strategy == "eager":
        return None
    standing = _standing(eager, timing)
    gain = eager.median - timing.median
    steps = math.ceil(result.cold / gain) if standing == "faster" and result.cold is not None else None
    return Comparison(result, timing, eager.median / timing.median, eager.high / timing.low, standing, steps)


def apart(one: Timing, other: Timing) -> bool:
    """The quartiles of the two do not overlap."""
    return one.high < other.low or other.high < one.low


def _standing(eager: Timing, timing: Timing) -> Standing:
    if not apart(eager, timing):
        return "cannot tell"
    return "faster" if timing.median < eager.median else "slower"
