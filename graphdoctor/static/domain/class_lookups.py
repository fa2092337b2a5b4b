"""Records which class attributes a call reads. A summary is valid only where these lookups give the same answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphdoctor.static.domain.program import ClassInfo

#: A class, the name of a method of ``ClassInfo``, its arguments and its answer.
Lookup = tuple["ClassInfo", str, tuple[Any, ...], Any]


@dataclass
class LookupLog:
    """A log of the lookups in classes; None in it stands for a lookup whose answer is not known."""

    log: list[Lookup | None] | None = None
    #: How many calls were recorded, with the one that is.
    recordings: int = 0

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record the lookups made inside."""
        self.log = []
        self.recordings += 1
        try:
            yield
        finally:
            self.log = None

    def position(self) -> int | None:
        """The length of the log, for ``since``; None where nothing is recorded."""
        return None if self.log is None else len(self.log)

    def since(self, mark: int | None) -> tuple[Lookup | None, ...] | None:
        """The lookups since ``mark``, each once."""
        if self.log is None or mark is None:
            return None
        each = {(id(one[0]), one[1], *map(id, one[2])) if one is not None else (): one for one in self.log[mark:]}
        return tuple(each.values())

    def replay(self, lookups: tuple[Lookup | None, ...] | None) -> None:
        """Record the lookups of a summary that is replayed."""
        if self.log is not None:
            self.log += (None,) if lookups is None else lookups
