"""A unified diff in pieces: removed lines and those that replace them are shown side by side where there is room."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

Kind = Literal["hunk", "add", "remove", "same"]


@dataclass(frozen=True)
class Row:
    """A line of the diff as it stands there, with its sign."""

    kind: Kind
    text: str


@dataclass(frozen=True)
class Piece:
    """Lines that follow each other: either all are changed, or none is."""

    changed: bool
    rows: tuple[Row, ...]

    @property
    def sides(self) -> tuple[tuple[Row, ...], ...]:
        """The removed rows and those that replace them, either of which may be empty; all rows where nothing is
        changed."""
        if not self.changed:
            return (self.rows,)
        kinds = ("remove", "add")
        return tuple(tuple(row for row in self.rows if row.kind == kind) for kind in kinds)


def pieces(diff: str) -> tuple[Piece, ...]:
    """``diff`` from its first to its last line; one of several files, too."""
    grouped = groupby(_rows(diff.splitlines()), key=lambda row: row.kind in ("add", "remove"))
    return tuple(Piece(changed, tuple(rows)) for changed, rows in grouped)


def _rows(lines: list[str]) -> Iterator[Row]:
    for number, line in enumerate(lines):
        after = lines[number + 1] if number + 1 < len(lines) else ""
        before = lines[number - 1] if number else ""
        # A removed line may begin with two dashes of its own: the names of a file stand in a pair.
        names = (line.startswith("--- ") and after.startswith("+++ ")) or (
            line.startswith("+++ ") and before.startswith("--- ")
        )
        if names or line.startswith("@@"):
            yield Row("hunk", line)
        elif line.startswith("+"):
            yield Row("add", line)
        else:
            yield Row("remove" if line.startswith("-") else "same", line)
