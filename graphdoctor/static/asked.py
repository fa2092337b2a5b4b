"""What is asked of classes while a call is interpreted: on that its outcome depends, beside its arguments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphdoctor.static.index import ClassInfo

#: A class, and a method of it with arguments and answer.
Lookup = tuple["ClassInfo", str, tuple[Any, ...], Any]


@dataclass
class Asked:
    """What is asked of classes, while somebody listens; None in the log stands for what is not known."""

    log: list[Lookup | None] | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Keep a log of what is asked inside."""
        self.log = []
        try:
            yield
        finally:
            self.log = None

    def mark(self) -> int | None:
        """Where the log stands now."""
        return None if self.log is None else len(self.log)

    def since(self, mark: int | None) -> tuple[Lookup | None, ...] | None:
        """What was asked since then, each thing once."""
        if self.log is None or mark is None:
            return None
        each = {(id(one[0]), one[1], *map(id, one[2])) if one is not None else (): one for one in self.log[mark:]}
        return tuple(each.values())

    def again(self, asked: tuple[Lookup | None, ...] | None) -> None:
        """Note that what was asked once counts again."""
        if self.log is not None:
            self.log += (None,) if asked is None else asked
