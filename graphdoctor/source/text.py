"""Source text and its lines as Python counts them."""

from __future__ import annotations

import re
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
