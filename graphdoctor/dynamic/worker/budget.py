"""How much time a run has left, and how long its steps take: a step that cannot fit is not begun."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

#: The part of the time limit that is planned; the rest makes up for estimates that are too low.
_PLANNED = 0.9


class Budget:
    """Counts from when it is made. ``limit`` is in seconds, as ``clock`` counts them."""

    def __init__(self, limit: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._clock = clock
        self._began = clock()
        #: Seconds of one eager run, and of one compile with its run, as far as they were measured.
        self.eager = 0.0
        self.compile = 0.0

    def know(self, eager: float, compiled: float) -> None:
        """Note the seconds that one eager run and one compile took, where they were measured."""
        self.eager, self.compile = eager, compiled

    @contextlib.contextmanager
    def eager_run(self) -> Iterator[None]:
        """Measure a block that runs once in eager."""
        began = self._clock()
        yield
        self.eager = self._clock() - began

    @contextlib.contextmanager
    def compiles(self) -> Iterator[None]:
        """Measure a block that compiles once."""
        began = self._clock()
        yield
        self.compile = self._clock() - began

    def estimate(self, eager: float, compiles: float) -> float:
        """The seconds that so many eager runs and compiles take."""
        return eager * self.eager + compiles * self.compile

    def seconds(self, share: float = 1.0) -> float:
        """What may be spent from now on: the ``share`` of the limit, or what is left of it."""
        left = self._limit * _PLANNED - (self._clock() - self._began)
        return max(min(left, share * self._limit), 0.0)

    def refusal(self, needed: float, share: float = 1.0) -> str:
        """Why something that takes ``needed`` seconds is not begun; empty where it is."""
        if needed <= self.seconds(share):
            return ""
        left = self.seconds()
        if needed > left:
            return f"it would take about {needed:.0f} s, and {left:.0f} s of {self._limit:g} s are left"
        return f"it would take about {needed:.0f} s, more than {share:.0%} of the time limit of {self._limit:g} s"

    def until(self, share: float) -> float:
        """The moment on the clock at which a step with this ``share`` of the limit begins nothing further."""
        return self._clock() + self.seconds(share)
