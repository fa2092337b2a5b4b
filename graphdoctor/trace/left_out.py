"""Compiled functions that the text of a graph break leaves out, where they called a function of their name.

The ``forward`` of a model calls that of a layer of torch's: torch takes the two for one function that goes on after a
break (torch/_dynamo/exc.py, collapse_resume_frames). What goes on after this break begins at the line that is missed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from graphdoctor.breaks.grouping import RawEvent, RawFrame, resumed


def is_left_out(path: str, name: str, first: RawFrame) -> bool:
    """Whether a text that begins with ``first`` left out the compiled function ``name``.

    Of two in one file it is not known which is left.
    """
    return path != first.path and resumed(name) == first.name


class Unplaced:
    """The events among ``breaks`` that wait for the line of their compiled function, their first traced frame."""

    def __init__(self, breaks: Counter[RawEvent]) -> None:
        self._breaks = breaks
        self._events: list[RawEvent] = []

    def wait(self, event: RawEvent) -> None:
        """Add ``event``, which stands for the same break as a caller of its function met it."""
        if self._events:
            last = self._events[-1]
            if (last.message, last.traced[1:]) == (event.message, event.traced[1:]):
                self._breaks.pop(self._events.pop(), None)
        self._events.append(event)

    def place(self, path: str, name: str, line: int) -> None:
        """``name`` is compiled from ``line`` on: where it goes on after the last event, that is the event's line."""
        if not self._events or resumed(name) == name:
            return
        event = self._events[-1]
        compiled, *inside = event.traced
        if (compiled.path, resumed(compiled.name)) == (path, resumed(name)):
            self._events.pop()
            placed = replace(event, traced=(replace(compiled, line=line), *inside))
            self._breaks[placed] += self._breaks.pop(event, 0)
