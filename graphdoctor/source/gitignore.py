"""Which files git ignores, by the .gitignore files alone: git itself is not run.

Source of facts: the manual page gitignore(5). Global excludes of the user are not read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from graphdoctor.source.files import read_bytes


@dataclass(frozen=True)
class _Line:
    """One pattern of a .gitignore file."""

    regex: re.Pattern[str]
    negated: bool
    folders_only: bool


class GitIgnore:
    """The .gitignore files between the root of the repository and the files in question.

    Without a repository around ``top``, those at and below ``top``. A ``top`` that is itself ignored was named on
    purpose: the files above it have no say.
    """

    def __init__(self, top: Path) -> None:
        self._read: dict[Path, tuple[_Line, ...]] = {}
        self.root = next((folder for folder in (top, *top.parents) if os.path.exists(folder / ".git")), top)
        above = [folder for folder in (top, *top.parents) if folder != self.root and folder.is_relative_to(self.root)]
        if any(self.ignores(folder, is_folder=True) for folder in above):
            self.root = top

    def ignores(self, path: Path, is_folder: bool) -> bool:
        """Whether ``path`` itself is ignored; the folders above it are the business of who walks them."""
        folder = path.parent
        while folder.is_relative_to(self.root):
            if folder not in self._read:
                self._read[folder] = _lines(folder)
            verdict = _verdict(self._read[folder], path.relative_to(folder).as_posix(), is_folder)
            if verdict is not None:
                return verdict
            folder = folder.parent
        return False


def _verdict(lines: tuple[_Line, ...], path: str, is_folder: bool) -> bool | None:
    """Whether the lines of a file ignore ``path``, relative to it; None when no line matches. The last match counts."""
    for line in reversed(lines):
        if (is_folder or not line.folders_only) and line.regex.fullmatch(path):
            return not line.negated
    return None


def _lines(folder: Path) -> tuple[_Line, ...]:
    lines: list[_Line] = []
    for name in (".git/info/exclude", ".gitignore"):
        try:
            text = read_bytes(folder / name).decode("utf-8", "replace")
        except OSError:
            continue
        lines.extend(filter(None, map(_line, text.removeprefix("\ufeff").splitlines())))
    return tuple(lines)


def _line(text: str) -> _Line | None:
    text = re.sub(r"(?<!\\)\s+$", "", text)
    # No path is as long as some texts that were not written for git.
    if not text or text.startswith("#") or len(text) > _LONGEST:
        return None
    negated = text.startswith("!")
    pattern = text[negated:]
    folders_only = pattern.endswith("/")
    pattern = pattern.rstrip("/") if folders_only else pattern
    # A slash before the end ties the pattern to the folder of its file.
    anchored = "/" in pattern
    try:
        regex = re.compile(_translated(("" if anchored else "**/") + pattern.removeprefix("/")))
    except re.error:
        return None
    return _Line(regex, negated, folders_only)


_STAR = "*"
_LONGEST = 4096
_TOKEN = re.compile(r"^\*\*/|/\*\*/|/\*\*$|\*+|\?|\[(?P<not>[!^]?)(?P<set>\]?[^\]]*)\]|\\(?P<quoted>.)|(?P<plain>.)")


def _translated(pattern: str) -> str:
    """A glob of git as a regular expression, which takes time that grows with its length, and not exponentially.

    What stands between two wildcards is taken where it comes first, once and for all: where the rest does not fit
    after that place, it fits after no later one.
    """
    runs: list[list[str]] = [[]]
    for token in _TOKEN.finditer(pattern):
        text = token.group()
        if text in ("**/", "/**/"):
            # Any number of folders, none included, between two runs of names.
            runs[-1] += ["/"] * (text[0] == "/")
            runs.append([])
        elif text == "/**":
            runs[-1].append("/.+")
        else:
            runs[-1].append(_STAR if text[0] == "*" else _regex(token))
    numbers = count()
    first, *others = (_run(run, numbers) for run in runs)
    inner = "".join(_first(f"(?:.*?/)??{run}", numbers) for run in others[:-1])
    return first + inner + "".join(f"(?:.*/)?{run}" for run in others[-1:])


def _run(tokens: Sequence[str], numbers: Iterator[int]) -> str:
    """Names and single characters, where a star stands for characters of one name."""
    fixed = [""]
    for token in tokens:
        if token == _STAR:
            fixed.append("")
        else:
            fixed[-1] += token
    if len(fixed) == 1:
        return fixed[0]
    inner = "".join(_first(f"[^/]*?{part}", numbers) for part in fixed[1:-1])
    return f"{fixed[0]}{inner}[^/]*{fixed[-1]}"


def _first(pattern: str, numbers: Iterator[int]) -> str:
    """``pattern`` where it comes first, without a way back: Python has atomic groups since 3.11 only."""
    name = f"g{next(numbers)}"
    return f"(?=(?P<{name}>{pattern}))(?P={name})"


def _regex(token: re.Match[str]) -> str:
    text = token.group()
    if text == "?":
        return "[^/]"
    if token["set"] is not None:
        members = re.sub(r"([\[\]])", r"\\\1", token["set"])
        return f"(?!/)[{'^' if token['not'] else ''}{members}]"
    return re.escape(token["quoted"] or token["plain"])
