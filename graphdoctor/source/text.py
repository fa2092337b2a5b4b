"""Source text and its lines as Python counts them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate

#: What ends a line of Python. Not what str.splitlines takes: form feeds and U+2028 do not end a line.
LINE_END = re.compile(r"\r\n|\r|\n")


def split_lines(text: str) -> list[str]:
    """The lines of ``text`` without their ends; what follows the last line end counts as a line."""
    # The plain split is twenty times as fast.
    return LINE_END.split(text) if "\r" in text else text.split("\n")


# Of a few texts: a file, and the parts of it that one fix changes.
@lru_cache(maxsize=8)
def line_starts(text: str) -> tuple[int, ...]:
    """Where in ``text`` its lines begin."""
    if "\r" in text:
        return (0, *(end.end() for end in LINE_END.finditer(text)))
    return (0, *accumulate(len(line) + 1 for line in text.split("\n")[:-1]))


def words_at(word: str, text: str) -> Iterator[int]:
    """Where ``word``, of letters, digits and underscores, stands in ``text`` as a word of its own.

    To look for plain text is a hundred times as fast as a regular expression, and most words are not there.
    """
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if not _is_letter(text[start - 1 : start]) and not _is_letter(text[end : end + 1]):
            yield start
        start = text.find(word, end)


def has_word(word: str, text: str) -> bool:
    """Whether ``word`` stands in ``text`` as a word of its own."""
    return next(words_at(word, text), None) is not None


def _is_letter(character: str) -> bool:
    return character == "_" or character.isalnum()
