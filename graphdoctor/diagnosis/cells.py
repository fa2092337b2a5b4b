"""A diagnosis of a module that is made of cells, with the places where people see them: cell and line in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

from graphdoctor.breaks.measured_costs import with_lines
from graphdoctor.fixes.core.diff import of_edits
from graphdoctor.model.findings import Edit, Finding, Fix, Location
from graphdoctor.source.cells import Cells
from graphdoctor.source.text import split_lines

T = TypeVar("T")

_LINES = re.compile(r"\blines? \d+(?:(?:, | and )\d+)*")
_NUMBER = re.compile(r"\d+")


def in_cells(diagnosis: T, modules: Mapping[str, Cells]) -> T:
    """``diagnosis`` (or a part of it) with the locations in ``modules``, by shown path, as cells."""
    return _Placing(modules).placed(diagnosis) if modules else diagnosis


@dataclass(frozen=True)
class _Placing:
    modules: Mapping[str, Cells]

    def placed(self, value: Any) -> Any:
        """``value`` with every place in it by cell."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, tuple):
            return tuple(map(self.placed, value))
        if isinstance(value, Mapping):
            return {key: self.placed(item) for key, item in value.items()}
        if not is_dataclass(value) or isinstance(value, type):
            return value
        if isinstance(value, Location):
            return self._location(value)
        if isinstance(value, Finding):
            return self._finding(value)
        made = replace(value, **{f.name: self.placed(getattr(value, f.name)) for f in fields(value) if f.init})
        cells, line = self.modules.get(getattr(value, "path", None) or ""), getattr(value, "line", None)
        if cells is not None and isinstance(line, int):
            cell, number = cells.at(line)
            made = replace(made, path=cell.name, line=number)
        return made

    def _text(self, text: str) -> str:
        """``text`` with the locations in it, as ``notebook.ipynb:12``, as cells."""
        # A pattern for each of hundreds of notebooks would take longer than the scan.
        named = sorted((path for path in self.modules if path in text), key=len, reverse=True)
        if not named:
            return text
        return re.sub(rf"({'|'.join(map(re.escape, named))}):(\d+)", self._place, text)

    def _place(self, match: re.Match[str]) -> str:
        cell, number = self.modules[match[1]].at(int(match[2]))
        return f"{cell.name}:{number}"

    def _location(self, place: Location) -> Location:
        cells = self.modules.get(place.path)
        if cells is None:
            return place
        number = cells.index_at(place.line)
        lines, above = split_lines(cells.cells[number].text), cells.first_line(number) - 1
        end, column = place.end_line - above, place.end_column
        if end > len(lines):
            end, column = len(lines), len(lines[-1]) + 1
        return Location(cells.cells[number].name, place.line - above, place.column, end, column)

    def _finding(self, finding: Finding) -> Finding:
        cells = self.modules.get(finding.location.path)
        finding = replace(finding, called_from=self.placed(finding.called_from))
        if cells is None:
            return replace(finding, fix=self.placed(finding.fix))
        cell, _ = cells.at(finding.location.line)
        lines, above = split_lines(cell.text), cells.first_line(cells.index_at(finding.location.line)) - 1
        # The lines around a place may be those of the cells beside it.
        start = max(finding.snippet_start - above, 1)
        stop = min(finding.snippet_start + len(finding.snippet) - above, len(lines) + 1)
        cost = with_lines(finding.consequence, lambda line: cells.at(line)[1])
        placed = replace(
            finding, location=self._location(finding.location), consequence=cost, fix=self._fix(finding.fix)
        )
        if not finding.snippet:
            return placed
        return replace(placed, snippet=tuple(lines[start - 1 : stop - 1]), snippet_start=start)

    def _fix(self, fix: Fix | None) -> Fix | None:
        if fix is None or not fix.edits:
            return fix
        edits = tuple(edit for one in fix.edits for edit in cell_edits(one, self.modules[one.path]))
        texts = {cell.name: cell.text for cells in self.modules.values() for cell in cells.cells}
        names = dict.fromkeys(edit.path for edit in edits)
        diffs = (of_edits(name, texts[name], [e for e in edits if e.path == name]) for name in names)
        cells = self.modules[fix.edits[0].path]
        # Lines in the verdict of a verification are lines that the fix changes.
        doubts = _LINES.sub(lambda match: _NUMBER.sub(lambda n: str(cells.at(int(n[0]))[1]), match[0]), fix.doubts)
        return replace(fix, edits=edits, diff="".join(diffs), detail=self._text(fix.detail), doubts=self._text(doubts))


def cell_edits(edit: Edit, cells: Cells) -> Iterable[Edit]:
    """``edit`` of the module as one of the cell that it begins in; it may take the line end after that cell."""
    number = cells.index_at(edit.start[0])
    cell, above = cells.cells[number], cells.first_line(number) - 1
    lines = split_lines(cell.text)
    start, end, text = (edit.start[0] - above, edit.start[1]), (edit.end[0] - above, edit.end[1]), edit.text
    if end[0] > len(lines):
        end, text = (len(lines), len(lines[-1]) + 1), text.removesuffix("\n")
    if start[0] > len(lines):
        # A line that is put behind the last one of the cell.
        start, text = end, "\n" + text
    yield Edit(cell.name, start, end, text)
