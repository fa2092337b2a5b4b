"""Which functions compiled code calls: what a model reaches, also where a call was not interpreted once more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from graphdoctor.static.domain.frames import Names
from graphdoctor.static.domain.program import ClassInfo, FunctionInfo
from graphdoctor.static.domain.values import Instance

#: A function, and for a method the class of its object: an inherited method may call methods that the class overrides.
Called = tuple[FunctionInfo, ClassInfo | None]
#: A function and one that it calls.
CallEdge = tuple[Called, Called]


class CallGraph:
    """The calls in compiled code. ``entered`` are the functions that nothing compiled calls: there regions begin."""

    def __init__(self) -> None:
        self.entered: dict[Called, None] = {}
        self._callees: dict[Called, dict[Called, None]] = {}
        self._running: list[Called] = []

    def add(self, info: FunctionInfo, names: Names) -> Called:
        """Note that the function that runs calls ``info`` with these arguments. Returns what it calls."""
        receiver = next(iter(names.values()), None) if info.owner is not None else None
        called = info, receiver.info if isinstance(receiver, Instance) else None
        callees = self._callees.setdefault(self._running[-1], {}) if self._running else self.entered
        callees[called] = None
        return called

    @contextmanager
    def running(self, called: Called | None) -> Iterator[None]:
        """A context for the body of ``called``; None where nothing of it is noted."""
        before = len(self._running)
        self._running += [] if called is None else [called]
        try:
            yield
        finally:
            del self._running[before:]

    def below(self, called: Called) -> dict[Called, None]:
        """``called`` and all that it leads to."""
        found, waiting = {called: None}, [called]
        while waiting:
            new = [each for each in self._callees.get(waiting.pop(), ()) if each not in found]
            found.update(dict.fromkeys(new))
            waiting += new
        return found

    def edges(self) -> tuple[CallEdge, ...]:
        """The calls that the function that runs leads to, for ``repeat``."""
        below = self.below(self._running[-1]) if self._running else ()
        return tuple((caller, callee) for caller in below for callee in self._callees.get(caller, ()))

    def repeat(self, edges: Iterable[CallEdge]) -> None:
        """Note the calls of a function that is not interpreted again."""
        for caller, callee in edges:
            self._callees.setdefault(caller, {})[callee] = None
