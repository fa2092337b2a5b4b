"""Cells that run in one namespace, read as the one module that they make together: notebooks, and what is typed.

The analysis sees the module; people see cells. Lines are 1-based in both. A comment line stands above each cell in the
module, so that cells can be distinguished in a copy that was changed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from graphdoctor.source.text import split_lines


@dataclass(frozen=True)
class Cell:
    """``name`` is the path that places in the cell show; ``text`` is Python, a line for each line that people see."""

    name: str
    text: str


@dataclass(frozen=True)
class Cells:
    """The cells in the order in which they run."""

    cells: tuple[Cell, ...]

    @cached_property
    def text(self) -> str:
        """The text of the module."""
        return "".join(f"{_head(number)}{cell.text}\n" for number, cell in enumerate(self.cells))

    @cached_property
    def _first_lines(self) -> Sequence[int]:
        first, lines = 2, []
        for cell in self.cells:
            lines.append(first)
            first += len(split_lines(cell.text)) + 1
        return lines

    def first_line(self, number: int) -> int:
        """The line of the module that the cell with this index begins at."""
        return self._first_lines[number]

    def index_at(self, line: int) -> int:
        """The index of the cell that a line of the module belongs to; the last one for lines after the module."""
        return max(bisect_right(self._first_lines, line) - 1, 0)

    def at(self, line: int) -> tuple[Cell, int]:
        """The cell that a line of the module belongs to, and the line in it."""
        number = self.index_at(line)
        return self.cells[number], line - self._first_lines[number] + 1

    def split(self, text: str) -> tuple[str, ...]:
        """The texts of the cells in ``text``, a changed copy of the module. Raises ValueError where one is missing."""
        found, rest = [], text.removeprefix(_head(0))
        for number in range(1, len(self.cells)):
            part, head, rest = rest.partition("\n" + _head(number))
            if not head:
                raise ValueError(f"the text of cell {number + 1} is not there")
            found.append(part)
        return (*found, rest.removesuffix("\n")) if self.cells else ()


def _head(number: int) -> str:
    return f"# %% [{number + 1}]\n"
