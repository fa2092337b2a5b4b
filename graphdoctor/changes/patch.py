"""Unified diffs, applied to texts in memory. Strict: a hunk must find its lines, at its place or at one other. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_NO_END = "\\ No newline at end of file"


class PatchError(Exception):
    """A patch that cannot be read or applied; the text is one line for the user."""


@dataclass(frozen=True)
class _Hunk:
    """``old`` becomes ``new``, lines with their ends; ``line`` is that of the first old line, from 1."""

    line: int
    old: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True)
class FilePatch:
    """What a patch does to one file, by the path that the patch gives: without ``a/`` and ``b/``."""

    path: str
    hunks: tuple[_Hunk, ...]

    def apply(self, text: str) -> str:
        """``text`` with the hunks. Raises PatchError."""
        # The lines of a diff end in \n, whatever those of the file end in.
        end = "\r\n" if "\r\n" in text else "\n"
        lines, moved = text.replace("\r\n", "\n").splitlines(keepends=True), 0
        for hunk in self.hunks:
            at = self._place(lines, hunk, hunk.line - (1 if hunk.old else 0) + moved)
            lines[at : at + len(hunk.old)] = hunk.new
            moved = at - (hunk.line - (1 if hunk.old else 0)) + len(hunk.new) - len(hunk.old)
        return "".join(lines).replace("\n", end)

    def _place(self, lines: Sequence[str], hunk: _Hunk, at: int) -> int:
        size, old = len(hunk.old), list(hunk.old)
        if list(lines[at : at + size]) == old:
            return at
        found = [number for number in range(len(lines) - size + 1) if list(lines[number : number + size]) == old]
        if not old or len(found) != 1:
            raise PatchError(f"{self.path}: the hunk at line {hunk.line} does not fit the file")
        return found[0]


def parse(text: str) -> tuple[FilePatch, ...]:
    """The files of a unified diff, as diff -u and git write it. Raises PatchError."""
    lines = text.splitlines(keepends=True)
    found, at = [], 0
    while at < len(lines):
        if not (lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")):
            at += 1
            continue
        old, new = _path(lines[at]), _path(lines[at + 1])
        if old is None or new is None:
            raise PatchError(f"{old or new}: the patch adds or removes this file; apply it, and use --against")
        hunks, at = _hunks(lines, at + 2, new)
        found.append(FilePatch(new, tuple(hunks)))
    if not found:
        raise PatchError("it is no unified diff: it names no file")
    return tuple(found)


def _path(line: str) -> str | None:
    """The path of a head line; None for a file that is not there."""
    path = line[4:].rstrip("\r\n").partition("\t")[0].strip('"')
    if path == "/dev/null":
        return None
    return path[2:] if path[:2] in ("a/", "b/") else path


def _hunks(lines: Sequence[str], at: int, path: str) -> tuple[list[_Hunk], int]:
    hunks = []
    while at < len(lines) and (head := _HUNK.match(lines[at])):
        wanted = int(head[2] or 1), int(head[3] or 1)
        old, new, last = list[str](), list[str](), list[list[str]]()
        at += 1
        while at < len(lines) and ((len(old), len(new)) != wanted or lines[at].startswith(_NO_END)):
            if lines[at].startswith(_NO_END):
                for side in last:
                    side[-1] = side[-1].rstrip("\n")
            else:
                last = _sides(lines[at], old, new, path)
                for side in last:
                    side.append(lines[at][1:].rstrip("\r\n") + "\n")
            at += 1
        if (len(old), len(new)) != wanted:
            raise PatchError(f"{path}: the patch ends inside a hunk")
        hunks.append(_Hunk(int(head[1]), tuple(old), tuple(new)))
    return hunks, at


def _sides(line: str, old: list[str], new: list[str], path: str) -> list[list[str]]:
    """Which of the two a line of a hunk belongs to. Raises PatchError."""
    # Mail programs drop the blank of an empty line.
    sides = {"-": [old], "+": [new], " ": [old, new], "\r": [old, new], "\n": [old, new]}.get(line[0])
    if sides is None:
        raise PatchError(f"{path}: the patch has a line that is none of a diff: {line.strip()[:40]}")
    return sides
