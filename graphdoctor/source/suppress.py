"""Comments that silence findings: ``# noqa: GD101`` and ``# graphdoctor: ignore[GD101] reason``. Pure."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator, Mapping

#: Matches a comment that silences everything.
EVERYTHING = "*"

_NOQA = re.compile(r"#\s*noqa\b(?P<colon>\s*:\s*(?P<codes>[A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*))?", re.IGNORECASE)
_IGNORE = re.compile(r"#\s*graphdoctor:\s*ignore\b(?:\[(?P<codes>[^\]]*)\])?", re.IGNORECASE)


def suppressions(text: str) -> dict[int, frozenset[str]]:
    """The codes silenced on each line; a comment on any line of a statement holds for all lines of that statement."""
    lowered = text.lower()
    if "noqa" not in lowered and "graphdoctor:" not in lowered:
        return {}
    silenced: dict[int, frozenset[str]] = {}
    for first, last, comments in _statements(text):
        codes = frozenset(code for comment in comments for code in _codes(comment))
        if codes:
            silenced.update({line: silenced.get(line, frozenset()) | codes for line in range(first, last + 1)})
    return silenced


def is_suppressed(code: str, name: str, line: int, silenced: Mapping[int, frozenset[str]]) -> bool:
    """True when a finding of the rule ``code`` (or its ``name``) at ``line`` is silenced; "GD1" silences all GD1xx."""
    return any(matches(code, name, pattern) for pattern in silenced.get(line, ()))


def matches(code: str, name: str, pattern: str) -> bool:
    """True when ``pattern`` is the rule's name, its code or the beginning of its code."""
    return pattern == EVERYTHING or pattern.lower() == name or code.startswith(pattern.upper())


def _statements(text: str) -> Iterator[tuple[int, int, list[str]]]:
    """(first line, last line, comments) of each logical line; what cannot be tokenized is left out."""
    first, comments = 0, []
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    try:
        for token in tokens:
            if token.type == tokenize.COMMENT:
                comments.append(token.string)
                first = first or token.start[0]
            elif token.type == tokenize.NEWLINE or (token.type == tokenize.NL and _stands_alone(token)):
                if first:
                    yield first, token.start[0], comments
                first, comments = 0, []
            elif token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
                first = first or token.start[0]
    except (tokenize.TokenError, SyntaxError):
        return


def _stands_alone(token: tokenize.TokenInfo) -> bool:
    """True for the line end of a line that holds a comment only."""
    return token.line.lstrip().startswith("#")


def _codes(comment: str) -> Iterator[str]:
    match = _IGNORE.search(comment)
    if match:
        codes = match.group("codes")
        yield from (c.strip() for c in codes.split(",") if c.strip()) if codes is not None else (EVERYTHING,)
    match = _NOQA.search(comment)
    if match:
        if match.group("codes"):
            yield from re.split(r"[,\s]+", match.group("codes"))
        elif not comment[match.end() :].lstrip().startswith(":"):
            yield EVERYTHING
