"""Unified diffs of source text."""

from __future__ import annotations

import difflib
import re
from itertools import pairwise

from graphdoctor.source.text import LINE_END, split_lines

#: Unchanged lines shown around a change.
_CONTEXT = 3
_HUNK = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def unified(path: str, before: str, after: str, keep_ends: bool = False) -> str:
    """The unified diff of two versions of ``path``; empty when they are equal.

    Line ends are shown as ``\\n``; with ``keep_ends`` they are those of the file, so that ``patch`` takes it.
    """
    old, new = map(_with_ends if keep_ends else _lines, (before, after))
    # What is the same at both ends is not compared: that takes the square of a file's length.
    same = _shared(old, new)
    first = max(same - _CONTEXT, 0)
    rest = max(_shared(old[same:][::-1], new[same:][::-1]) - _CONTEXT, 0)
    old, new = old[first : len(old) - rest], new[first : len(new) - rest]
    whole = difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", n=_CONTEXT)
    diff = (_moved(line, first) for line in whole)
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in diff)


def _shared(one: list[str], other: list[str]) -> int:
    """How many lines the two begin with alike."""
    different = (number for number, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    return next(different, min(len(one), len(other)))


def _moved(line: str, by: int) -> str:
    """A line of a diff; the head of a hunk for lines that stand ``by`` further down."""
    head = _HUNK.match(line)
    if head is None:
        return line
    old, old_count, new, new_count = head.groups(default="")
    return f"@@ -{int(old) + by}{old_count} +{int(new) + by}{new_count} @@{line[head.end() :]}"


def _with_ends(text: str) -> list[str]:
    starts = [0, *(end.end() for end in LINE_END.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(starts) if start < end]


def _lines(text: str) -> list[str]:
    """The lines with their ends, every end as ``\\n``."""
    lines = split_lines(text)
    whole = [line + "\n" for line in lines[:-1]]
    return [*whole, lines[-1]] if lines[-1] else whole
