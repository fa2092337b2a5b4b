"""Code that has no file: cells of a notebook kernel and what is typed at a prompt. Its text is in ``linecache``."""

from __future__ import annotations

import ast
import linecache
import os
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from graphdoctor.breaks.locations import kind_without_file
from graphdoctor.in_process.magics import COMMENT
from graphdoctor.source.cells import Cell, Cells

#: What the module that the cells make together is called while it is analysed. No file has this name.
MODULE = "<cells>"


@dataclass(frozen=True)
class Typed:
    """All that was typed so far, in order. ``files`` are the names that the code objects of the cells have."""

    cells: Cells
    files: tuple[str, ...]

    @cached_property
    def _index(self) -> dict[str, int]:
        return {file: number for number, file in enumerate(self.files)}

    def line(self, file: str, line: int) -> int | None:
        """The line of the module for a line of a code object; None where the code was not typed."""
        number = self._index.get(file)
        return None if number is None else self.cells.first_line(number) + line - 1


def typed() -> Typed:
    """What IPython, Jupyter or Python's own prompt (3.13 and newer) compiled in this process."""
    names = _input_names()
    files, cells = [], []
    # In the order in which it was compiled; entries of files have the file's time.
    for file, entry in list(linecache.cache.items()):
        if len(entry) != 4 or entry[1] is not None or _is_generated(file) or os.path.exists(file):
            continue
        text = "".join(entry[2]).removesuffix("\n")
        files.append(file)
        cells.append(Cell(names.get(text.strip(), file), text if _parses(text) else "\n" * text.count("\n")))
    return Typed(Cells(tuple(cells)), tuple(files))


def _is_generated(file: str) -> bool:
    return file.startswith("<") and kind_without_file(file) != "own"


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _input_names() -> dict[str, str]:
    """What IPython calls a cell, by its text, or by that which runs under our magic: ``In [3]``; the last of equals."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    history = getattr(shell, "history_manager", None)
    parsed, raw = (getattr(history, name, ()) for name in ("input_hist_parsed", "input_hist_raw"))
    names = {f"{COMMENT}{text.strip()}": f"In [{number}]" for number, text in enumerate(raw)}
    return names | {text.strip(): f"In [{number}]" for number, text in enumerate(parsed)}
