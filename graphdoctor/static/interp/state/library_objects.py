"""The objects of libraries that a file makes outside compiled regions, and what it does with each afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst

from graphdoctor.static.domain.events import Build, Site
from graphdoctor.static.domain.values import ExternalObject, Value


@dataclass(eq=False)
class ObjectRecord:
    """One object: the call that made it, the attributes that were set, and the keywords that it was called with."""

    node: cst.CSTNode
    site: Site
    qualname: str
    args: tuple[Value, ...]
    kwargs: dict[str, Value]
    attributes: set[str] = field(default_factory=set)
    called_with: set[str] = field(default_factory=set)

    def event(self) -> Build:
        """What rules see of it."""
        return Build(
            node=self.node,
            site=self.site,
            qualname=self.qualname,
            args=self.args,
            kwargs=self.kwargs,
            attributes=tuple(sorted(self.attributes)),
            called_with=tuple(sorted(self.called_with)),
        )


class LibraryObjects:
    """All objects made so far. ``ExternalObject.build`` is the number of one, counted from 1."""

    def __init__(self) -> None:
        self._records: list[ObjectRecord] = []
        #: The numbers, by the id of the call that made the object.
        self._numbers: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._records)

    def make(
        self, node: cst.CSTNode, site: Site, qualname: str, args: tuple[Value, ...], kwargs: dict[str, Value]
    ) -> ExternalObject:
        """The object that the call at ``node`` makes: the same one each time."""
        number = self._numbers.setdefault(id(node), len(self._records) + 1)
        if number > len(self._records):
            self._records.append(ObjectRecord(node, site, qualname, args, kwargs))
        return ExternalObject(qualname, number)

    def made_at(self, node: cst.CSTNode) -> ExternalObject | None:
        """The object that the call at ``node`` made; None where it made none."""
        number = self._numbers.get(id(node))
        return None if number is None else ExternalObject("", number)

    def record(self, value: Value) -> ObjectRecord | None:
        """What is known of an object; None where it was made in a region, or is no object of a library."""
        made = isinstance(value, ExternalObject) and value.build
        return self._records[made - 1] if made else None

    def construction(self, value: Value) -> Build | None:
        """How an object was made, without what was done with it, since more may follow; None where that is unknown."""
        record = self.record(value)
        return None if record is None else Build(record.node, record.site, record.qualname, record.args, record.kwargs)

    def events(self) -> Iterator[Build]:
        """What rules see of all of them, once the file is interpreted and it is known what became of each."""
        return (record.event() for record in self._records)
