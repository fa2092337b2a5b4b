"""Notebooks of Jupyter (``.ipynb``, format 4): their code cells as one module, and changes of the cells' source alone.

What a change does not touch, outputs and metadata among it, stays byte for byte: a notebook is not parsed and written
again, but the JSON string of each changed line is replaced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from graphdoctor.source.cells import Cell, Cells
from graphdoctor.source.errors import SourceError
from graphdoctor.source.files import REPORT_LIMIT, decode, read_bytes
from graphdoctor.source.magics import Plain, plain

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


#: The path of a cell: that of the notebook, and the number of the cell among all, from 1.
_CELL = re.compile(r"(.+\.ipynb):cell (\d+)", re.IGNORECASE)


def cell_of(path: str) -> tuple[str, int] | None:
    """The notebook and the number of the cell that ``path`` names; None for other paths."""
    match = _CELL.fullmatch(path)
    return (match[1], int(match[2])) if match else None


def opened(file: Path) -> Notebook:
    """The notebook on disk. Raises SourceError where it cannot be read; its cells are read on first use."""
    try:
        return Notebook(decode(read_bytes(file, REPORT_LIMIT))[0])
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}") from None


def text_of_cell(path: Path) -> str:
    """The text of the cell that ``path`` names; empty where it cannot be read."""
    found = cell_of(str(path))
    try:
        cells = opened(Path(found[0])).cells(found[0]).cells if found is not None else ()
    except SourceError:
        return ""
    return next((cell.text for cell in cells if cell.name == str(path)), "")


@dataclass(frozen=True)
class _Source:
    """The source of a code cell: its number among all cells, from 1, where its JSON stands, and its text."""

    number: int
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Notebook:
    """A notebook as it is on disk. Raises SourceError, one line for the user, where it cannot be read."""

    raw: str

    @cached_property
    def _sources(self) -> tuple[_Source, ...]:
        try:
            data = json.loads(self.raw)
        except (ValueError, RecursionError):
            raise SourceError("is no notebook: it does not hold JSON") from None
        if not isinstance(data, dict) or data.get("nbformat") != 4 or not isinstance(data.get("cells"), list):
            raise SourceError("is no notebook of format 4; convert it: jupyter nbconvert --to notebook --inplace")
        language = _language(data.get("metadata"))
        if language != "python":
            raise SourceError(f"is a notebook in {language}, not in Python")
        spans = list(_cells(self.raw))
        found = []
        for number, cell in enumerate(data["cells"], 1):
            if isinstance(cell, dict) and cell.get("cell_type") == "code" and spans[number - 1] is not None:
                found.append(_Source(number, *spans[number - 1], _joined(cell.get("source"))))
        return tuple(found)

    @cached_property
    def _plain(self) -> tuple[Plain, ...]:
        return tuple(plain(source.text) for source in self._sources)

    def cells(self, path: str = "") -> Cells:
        """The code cells as Python; ``notebook.ipynb:cell 3`` is the third of all cells of this path."""
        pairs = zip(self._sources, self._plain, strict=True)
        return Cells(tuple(Cell(f"{path}:cell {source.number}", python.text) for source, python in pairs))

    @property
    def text(self) -> str:
        """The module that the cells make together."""
        return self.cells().text

    def line(self, number: int, line: int) -> int:
        """The line of the file that a line of the cell with this number stands in, or the nearest to it."""
        source = next(source for source in self._sources if source.number == number)
        at = source.start
        if self.raw[at : at + 1] == "[":
            at = next((begin for begin, _ in list(_items(self.raw, at))[line - 1 : line]), at)
        return self.raw.count("\n", 0, at) + 1

    def changed(self, text: str) -> str:
        """The notebook with the cells of ``text``, a changed copy of its module. Raises SourceError."""
        try:
            return self.with_cells(self.cells().split(text))
        except ValueError as error:
            raise SourceError(f"cannot be changed: {error}") from None

    def with_cells(self, parts: Iterable[str]) -> str:
        """The notebook with other texts in its code cells, each a changed copy of what ``cells`` has."""
        raw = self.raw
        for source, python, part in reversed(list(zip(self._sources, self._plain, parts, strict=True))):
            after = python.restored(part)
            if after != source.text:
                raw = raw[: source.start] + _written(raw[source.start : source.end], after) + raw[source.end :]
        return raw


def _language(metadata: Any) -> str:
    """The language of the kernel; Python where the notebook names none."""
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        info = metadata.get(key) if isinstance(metadata, dict) else None
        found = info.get(name) if isinstance(info, dict) else None
        if isinstance(found, str):
            return "python" if found.lower() in ("python", "ipython", "python3") else found
    return "python"


def _joined(source: Any) -> str:
    """The format allows a text, or a list of its lines."""
    if isinstance(source, list):
        return "".join(line for line in source if isinstance(line, str))
    return source if isinstance(source, str) else ""


def _cells(raw: str) -> Iterator[tuple[int, int]]:
    """Where the JSON of each cell's source begins and ends."""
    start = next(at for key, at, _ in _members(raw, _skip(raw, 0)) if key == "cells")
    for at, _ in _items(raw, start):
        yield next(((begin, end) for key, begin, end in _members(raw, at) if key == "source"), (at, at))


def _members(raw: str, at: int) -> Iterator[tuple[str, int, int]]:
    """Key, begin and end of the value, for each member of the object at ``at``; the last of equal keys counts last."""
    at = _skip(raw, at + 1)
    while raw[at] != "}":
        key, at = _DECODER.raw_decode(raw, at)
        begin = _skip(raw, _skip(raw, at) + 1)
        _, end = _DECODER.raw_decode(raw, begin)
        yield key, begin, end
        at = _skip(raw, end)
        at = _skip(raw, at + 1) if raw[at] == "," else at


def _items(raw: str, at: int) -> Iterator[tuple[int, int]]:
    """Begin and end of each item of the list at ``at``."""
    at = _skip(raw, at + 1)
    while raw[at] != "]":
        _, end = _DECODER.raw_decode(raw, at)
        yield at, end
        at = _skip(raw, end)
        at = _skip(raw, at + 1) if raw[at] == "," else at


def _skip(raw: str, at: int) -> int:
    match = _SPACE.match(raw, at)
    return match.end() if match else at


def _written(value: str, text: str) -> str:
    """The JSON for ``text`` in the style of ``value``, with the strings of lines that stay as they are."""
    plain_ascii = value.isascii() and "\\u" in value
    if not value.startswith("["):
        return json.dumps(text, ensure_ascii=plain_ascii)
    spans = list(_items(value, 0))
    known = {json.loads(value[begin:end]): value[begin:end] for begin, end in spans}
    if not spans:
        return json.dumps(text.splitlines(keepends=True), ensure_ascii=plain_ascii)
    before, after = value[: spans[0][0]], value[spans[-1][1] :]
    between = value[spans[0][1] : spans[1][0]] if len(spans) > 1 else "," + (before[1:] or " ")
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    return (
        before + between.join(known.get(line) or json.dumps(line, ensure_ascii=plain_ascii) for line in lines) + after
    )
