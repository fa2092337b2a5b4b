"""Unified diffs of source text."""

from __future__ import annotations

import difflib
from itertools import pairwise

from graphdoctor.source.text import LINE_END, split_lines


def unified(path: str, before: str, after: str, keep_ends: bool = False) -> str:
    """The unified diff of two versions of ``path``; empty when they are equal.

    Line ends are shown as ``\\n``; with ``keep_ends`` they are those of the file, so that ``patch`` takes it.
    """
    old, new = map(_with_ends if keep_ends else _lines, (before, after))
    diff = difflib.unified_diff(old, new, f"a/{path}", f"b/{path}")
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in diff)


def _with_ends(text: str) -> list[str]:
    starts = [0, *(end.end() for end in LINE_END.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(starts) if start < end]


def _lines(text: str) -> list[str]:
    """The lines with their ends, every end as ``\\n``."""
    lines = split_lines(text)
    whole = [line + "\n" for line in lines[:-1]]
    return [*whole, lines[-1]] if lines[-1] else whole
