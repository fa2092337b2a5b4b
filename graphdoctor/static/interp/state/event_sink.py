"""What receives the events of an interpreter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from graphdoctor.static.domain.events import Block, Caller, Event
from graphdoctor.syntax.module import SourceModule


class EventSink:
    """Receives the events of an interpreter; this base class ignores them."""

    def __init__(self) -> None:
        #: The hits that rules made of events, and how often anything else was noted.
        self.hits: list[Any] = []
        self.others = 0

    def subscribes(self, _kind: type[Event], _qualname: str) -> bool:
        """Whether events of this class, or calls of this name, are wanted."""
        return False

    def receive(self, _event: Event) -> bool:
        """Receive an event. Returns whether the graph ends there."""
        return False

    def hits_of_call(self, first: int, _callers: int) -> tuple[Any, ...]:
        """The hits from number ``first`` on, those of a call with so many callers, for ``repeat``."""
        return tuple(self.hits[first:])

    def repeat(
        self, hits: Sequence[Any], _before: Block | None, _now: Block | None, _callers: tuple[Caller, ...]
    ) -> None:
        """Add ``hits`` of a call that is replayed; a break drops the frame with the block ``_now``, not ``_before``."""
        self.hits += hits

    @contextmanager
    def compiling(self, _fullgraph: bool) -> Iterator[None]:
        """A context for a region that the file compiles, with or without ``fullgraph=True``."""
        yield

    @contextmanager
    def only_offered(self, _source: SourceModule) -> Iterator[None]:
        """A context for a public function of a library of which nothing shows that it is compiled."""
        yield
