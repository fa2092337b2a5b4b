"""What IPython adds to Python: magics, commands of the shell, help. Replaced by Python of as many lines. Pure.

A line counts as IPython's only where Python's parser fails at it: ``% b`` may go on with an expression above.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass

_LINE = re.compile(r"(?P<indent>\s*)(?:(?P<names>[\w.,\s\[\]\"']+?)\s*=\s*[%!]|[%!?]|.*\?\s*$)")
#: Cell magics of IPython, and ours, whose cell is Python that runs in the namespace of the notebook.
_PYTHON = frozenset({"capture", "debug", "graphdoctor", "prun", "time", "timeit"})
_CELL_MAGIC = re.compile(r"\s*%%(\w*)")
_MARK = "# ipython: "


@dataclass(frozen=True)
class Plain:
    """``text`` is Python; ``written`` has the lines of the cell by those that stand for them in ``text``."""

    text: str
    written: dict[str, str]

    def restored(self, text: str) -> str:
        """``text``, a changed copy of ``self.text``, as it is written in the cell."""
        return "\n".join(self.written.get(line, line) for line in text.split("\n"))


def plain(text: str) -> Plain:
    """The cell ``text`` as Python; the lines of a cell in another language as comments."""
    lines = text.split("\n")
    whole = Plain("\n".join(map(_comment, lines)), {_comment(line): line for line in lines})
    made, first = list(lines), next((number for number, line in enumerate(lines) if line.strip()), 0)
    if magic := _CELL_MAGIC.match(lines[first]):
        if magic[1] not in _PYTHON:
            return whole
        made[first] = _comment(lines[first])
    for _ in range(len(lines) + 1):
        at = _syntax_error("\n".join(made))
        if at is None:
            written = {new: old for new, old in zip(made, lines, strict=True) if new != old}
            # What stands in the cell as such cannot be told from what stands for something else.
            return whole if written.keys() & set(lines) else Plain("\n".join(made), written)
        found = _LINE.match(lines[at]) if at < len(lines) and made[at] == lines[at] else None
        if found is None:
            break
        value = f"{found['names']} = globals().get('')" if found["names"] else "pass"
        made[at] = f"{found['indent']}{value}  {_MARK}{lines[at]}"
        while lines[at].endswith("\\") and at + 1 < len(lines):
            at += 1
            made[at] = _comment(lines[at])
    return whole


def _comment(line: str) -> str:
    return f"{_MARK}{line}" if line.strip() else line


def _syntax_error(text: str) -> int | None:
    """The index of the line at which Python's parser fails; None where it does not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        return (error.lineno or 1) - 1
    except (ValueError, RecursionError, MemoryError):
        return len(text)
    return None
