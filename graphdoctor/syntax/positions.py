"""Positions of ``ast`` nodes as lines and columns in characters, as libcst counts them."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from graphdoctor.syntax.from_ast import Origin, in_parentheses

#: What may stand between a parenthesis and what is in it.
_GAP = re.compile(r"(?:\s|\\\n|#[^\n]*\n)*")


def place_of(origin: Origin, lines: Sequence[str]) -> tuple[int, int, int, int]:
    """Line, column, end line and end column, from 1; parentheses around an expression are not part of it."""
    if isinstance(origin, tuple):
        line, start, end_line, end = origin
    else:
        line, start, end_line, end = origin.lineno, origin.col_offset, origin.end_lineno, origin.end_col_offset  # type: ignore[attr-defined]
    place = line, _characters(lines[line - 1], start), end_line, _characters(lines[end_line - 1], end)
    if isinstance(origin, ast.GeneratorExp) or (isinstance(origin, ast.Tuple) and in_parentheses(lines, origin)):
        place = _inside(place, lines)
    return place[0], place[1] + 1, place[2], place[3] + 1


def _characters(line: str, count: int) -> int:
    return count if line.isascii() else len(line.encode()[:count].decode())


def _inside(place: tuple[int, int, int, int], lines: Sequence[str]) -> tuple[int, int, int, int]:
    """``place`` without the parentheses at its ends, and without what stands between them and the code."""
    line, start, end_line, end = place
    rows = list(lines[line - 1 : end_line])
    rows[-1] = rows[-1][:end]
    rows[0] = rows[0][start:]
    text = "\n".join(rows)
    if not (text.startswith("(") and text.endswith(")")):
        return place
    begin = _GAP.match(text, 1)
    first = begin.end() if begin is not None else 1
    last = max(first, len(text[:-1].rstrip()))
    return *_moved(line, start, text[:first]), *_moved(line, start, text[:last])


def _moved(line: int, column: int, text: str) -> tuple[int, int]:
    """The place after ``text``, which begins at ``line`` and ``column``."""
    rows = text.count("\n")
    return (line, column + len(text)) if not rows else (line + rows, len(text) - text.rindex("\n") - 1)
