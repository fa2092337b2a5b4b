"""What a graph break leaves to be compiled by itself: calls behind it, and those of a function given up whole. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from graphdoctor.breaks.grouping import dropped
from graphdoctor.breaks.locations import Places, function_at, without_site
from graphdoctor.trace.process import Code, Line, Process


@dataclass(frozen=True)
class BreaksAbove:
    """The graph breaks of ``process``; ``text`` gives the source of a path, or nothing."""

    process: Process
    places: Places
    text: Callable[[str], str]

    def of(self, code: Code) -> str | None:
        """The place of a graph break because of which ``code`` is compiled by itself; None where there is none."""
        # The line of torch that calls a module is that of all modules.
        callers = sorted(call for call in self.process.callers[code] if self.places.kind(call[0]) != "torch")
        broken = self.process.broken_calls
        calls = (broken[call] for call in callers if call in broken and self._is_users(broken[call]))
        at = next(calls, None) or self._of_dropped(callers)
        found = self.places.innermost(at) if at else None
        return None if found is None else f"{without_site(self.places.show(found[0]))}:{found[1]}"

    def _is_users(self, stack: Sequence[Line]) -> bool:
        """Whether what broke is not torch's own. What Python's own modules break at, who calls them does."""
        kinds = [self.places.kind(path) for path, _ in stack]
        return next((kind for kind in reversed(kinds) if kind != "library"), "torch") != "torch"

    def _of_dropped(self, callers: Sequence[Line]) -> Sequence[Line] | None:
        """The stack of the break that dropped a function that is among ``callers``: all that it calls is on its own."""
        functions = {(self.places.show(path), function_at(self.text(path), line)) for path, line in callers}
        for event in self.process.breaks:
            given_up = dropped(event, self.places, self.text)
            if given_up is not None and (given_up.path, given_up.function) in functions:
                return tuple((frame.path, frame.line) for frame in event.traced)
        return None
