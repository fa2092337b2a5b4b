"""Unified diffs of source text."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

from graphdoctor.fixes.core.apply import apply
from graphdoctor.model.findings import Edit
from graphdoctor.source.text import LINE_END, line_starts, split_lines

#: Unchanged lines shown around a change.
_CONTEXT = 3
_HEAD = "--- a/{path}\n+++ b/{path}\n"
_HUNK = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def of_edits(path: str, text: str, edits: Iterable[Edit]) -> str:
    """The unified diff that ``edits`` make of ``text``: only the lines around each of them are looked at."""
    starts, diff, added = line_starts(text), "", 0
    for group in _groups(edits):
        above = max(group[0].start[0] - _CONTEXT - 1, 0)
        below = max(edit.end[0] for edit in group) + _CONTEXT
        part = text[starts[above] : starts[below] if below < len(starts) else len(text)]
        made = apply(part, [replace(e, start=_raised(e.start, above), end=_raised(e.end, above)) for e in group])
        hunks = unified(path, part, made, above=(above, above + added))
        diff += hunks.removeprefix(_HEAD.format(path=path.lstrip("/"))) if diff else hunks
        added += len(LINE_END.findall(made)) - len(LINE_END.findall(part))
    return diff


def _groups(edits: Iterable[Edit]) -> list[list[Edit]]:
    """Edits so far apart that no hunk holds lines of two groups."""
    groups: list[list[Edit]] = []
    end = 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if not groups or edit.start[0] > end + 4 * _CONTEXT:
            groups.append([])
        groups[-1].append(edit)
        end = max(end, edit.end[0])
    return groups


def _raised(place: tuple[int, int], by: int) -> tuple[int, int]:
    return place[0] - by, place[1]


def unified(path: str, before: str, after: str, keep_ends: bool = False, above: tuple[int, int] = (0, 0)) -> str:
    """The unified diff of two versions of ``path``; empty when they are equal.

    Line ends are shown as ``\\n``; with ``keep_ends`` they are those of the file, so that ``patch`` takes it.
    ``above`` says how many lines of each stand above those given.
    """
    old, new = map(_with_ends if keep_ends else _lines, (before, after))
    # What is the same at both ends is not compared: that takes the square of a file's length.
    same = _shared(old, new)
    first = max(same - _CONTEXT, 0)
    rest = max(_shared(old[same:][::-1], new[same:][::-1]) - _CONTEXT, 0)
    old, new = old[first : len(old) - rest], new[first : len(new) - rest]
    # An absolute path is one below the root: ``patch -p1`` run there takes it.
    shown = path.lstrip("/")
    whole = difflib.unified_diff(old, new, f"a/{shown}", f"b/{shown}", n=_CONTEXT)
    diff = (_moved(line, above[0] + first, above[1] + first) for line in whole)
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in diff)


def _shared(one: list[str], other: list[str]) -> int:
    """How many lines the two begin with alike."""
    different = (number for number, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    return next(different, min(len(one), len(other)))


def _moved(line: str, old_by: int, new_by: int) -> str:
    """A line of a diff; the head of a hunk for lines that stand further down in the old and in the new text."""
    head = _HUNK.match(line)
    if head is None:
        return line
    old, old_count, new, new_count = head.groups(default="")
    return f"@@ -{int(old) + old_by}{old_count} +{int(new) + new_by}{new_count} @@{line[head.end() :]}"


def edits_between(path: str, before: str, after: str) -> tuple[Edit, ...]:
    """The edits, of whole lines, that make ``after`` of ``before``."""
    old, new = _with_ends(before), _with_ends(after)
    edits = []
    for tag, first, last, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            ends_whole = last < len(old) or not old or LINE_END.search(old[-1])
            below = (last + 1, 1) if ends_whole else (last, len(old[-1]) + 1)
            edits.append(Edit(path, (first + 1, 1), below, "".join(new[start:end])))
    return tuple(edits)


def _with_ends(text: str) -> list[str]:
    starts = [*line_starts(text), len(text)]
    return [text[start:end] for start, end in pairwise(starts) if start < end]


def _lines(text: str) -> list[str]:
    """The lines with their ends, every end as ``\\n``."""
    lines = split_lines(text)
    whole = [line + "\n" for line in lines[:-1]]
    return [*whole, lines[-1]] if lines[-1] else whole
