"""Unified diffs of source text."""

from __future__ import annotations

import difflib

from graphdoctor.source.text import split_lines


def unified(path: str, before: str, after: str) -> str:
    """The unified diff of two versions of ``path``; empty when they are equal. Line ends are shown as ``\\n``."""
    old, new = _lines(before), _lines(after)
    diff = difflib.unified_diff(old, new, f"a/{path}", f"b/{path}")
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in diff)


def _lines(text: str) -> list[str]:
    """The lines with their ends, every end as ``\\n``."""
    lines = split_lines(text)
    whole = [line + "\n" for line in lines[:-1]]
    return [*whole, lines[-1]] if lines[-1] else whole
