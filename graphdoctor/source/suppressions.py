"""Comments that silence findings. Pure.

``# noqa: GD101 reason`` and ``# graphdoctor: ignore[GD101] reason`` hold for their statement, also where it has several
lines; ``# graphdoctor: ignore-file[GD101] reason`` on a line of its own holds for the file. Without codes, all three
silence everything.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

#: Matches a comment that silences everything.
EVERYTHING = "*"

#: A noqa comment, with its ``codes`` where it has any.
NOQA = re.compile(r"#\s*noqa\b(?P<colon>\s*:\s*(?P<codes>[A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*))?", re.IGNORECASE)
_IGNORE = re.compile(r"#\s*graphdoctor:\s*ignore(?P<file>-file)?(?![\w-])(?:\[(?P<codes>[^\]]*)\])?", re.IGNORECASE)


@dataclass(frozen=True)
class Suppression:
    """What one comment silences: ``codes`` on the lines ``first`` to ``last``, which is None for the whole file.

    A comment between statements has no lines: its ``last`` is 0. ``line``, ``column`` and ``end_column`` are where the
    comment stands.
    """

    codes: tuple[str, ...]
    first: int
    last: int | None
    line: int
    column: int
    end_column: int

    def covers(self, line: int) -> bool:
        """Whether a finding at ``line`` is silenced."""
        return self.last is None or self.first <= line <= self.last


@lru_cache(maxsize=1_000)
def suppressions(text: str) -> tuple[Suppression, ...]:
    """The silencing comments of a source text, in order; those after what cannot be tokenized are left out."""
    if not may_silence(text):
        return ()
    return tuple(
        suppression
        for first, last, comments in _statements(text)
        for comment in comments
        for suppression in _read(comment, first, last)
    )


def may_silence(text: str) -> bool:
    """Whether there is anything in ``text`` that silences, in a comment or not."""
    return NOQA.search(text) is not None or _IGNORE.search(text) is not None


def is_suppressed(code: str, name: str, line: int, silenced: Iterable[Suppression]) -> bool:
    """True when a finding of the rule ``code`` (or its ``name``) at ``line`` is silenced; "GD1" silences all GD1xx."""
    return any(s.covers(line) and any(matches(code, name, pattern) for pattern in s.codes) for s in silenced)


def matches(code: str, name: str, pattern: str) -> bool:
    """True when ``pattern`` is the rule's name, its code or the beginning of its code, or ``ALL``."""
    wanted = pattern.upper()
    return wanted in (EVERYTHING, "ALL") or pattern.lower() == name or code.startswith(wanted)


def _statements(text: str) -> Iterator[tuple[int, int, list[tokenize.TokenInfo]]]:
    """(first line, last line, comments) of each logical line; a comment between two has no lines: its last is 0."""
    first, comments = 0, []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                comments.append(token)
            elif token.type == tokenize.NEWLINE or (token.type == tokenize.NL and not first):
                if comments:
                    yield first or token.start[0], token.start[0] if first else 0, comments
                first, comments = 0, []
            elif token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
                first = first or token.start[0]
    except (tokenize.TokenError, SyntaxError):
        return


def _read(comment: tokenize.TokenInfo, first: int, last: int) -> Iterator[Suppression]:
    for found, codes in _matches(comment.string):
        whole_file = found.re is _IGNORE and found["file"] is not None
        if not codes or (whole_file and last):
            continue
        line, column = comment.start
        yield Suppression(
            codes=codes,
            first=first,
            last=None if whole_file else last,
            line=line,
            column=column + found.start() + 1,
            end_column=column + found.end() + 1,
        )


def _matches(comment: str) -> Iterator[tuple[re.Match[str], tuple[str, ...]]]:
    found = _IGNORE.search(comment)
    if found:
        codes = found["codes"]
        words = (EVERYTHING,) if codes is None else tuple(c.strip() for c in codes.split(",") if c.strip())
        yield found, words
    found = NOQA.search(comment)
    if found:
        if found["codes"]:
            yield found, tuple(re.split(r"[,\s]+", found["codes"]))
        elif not comment[found.end() :].lstrip().startswith(":"):
            yield found, (EVERYTHING,)
