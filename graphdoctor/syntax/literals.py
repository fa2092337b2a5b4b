"""What a literal is worth."""

from __future__ import annotations

import ast


def value_of(text: str) -> object:
    """The Python value of a number or a string, given as it is written."""
    # ``literal_eval`` is slow, and leaves closures that refer to themselves to the garbage collector.
    if text.isdecimal():
        return int(text)
    quote, inner = text[0], text[1:-1]
    if quote in "\"'" and quote not in inner and "\\" not in inner:
        return inner
    return ast.literal_eval(text)
