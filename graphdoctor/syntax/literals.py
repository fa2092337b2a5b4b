"""What a literal is worth."""

from __future__ import annotations

import ast
import re

_DECIMAL = re.compile(r"[0-9]+\.[0-9]*|[0-9]+(\.[0-9]*)?[eE][+-]?[0-9]+")


def value_of(text: str) -> object:
    """The Python value of a number or a string, given as it is written."""
    # ``literal_eval`` is slow, and leaves closures that refer to themselves to the garbage collector.
    if text.isdecimal():
        return int(text)
    quote, inner = text[0], text[1:-1]
    if quote in "\"'" and "\\" not in inner and "\r" not in inner:
        if quote not in inner:
            return inner
        if text[:3] == quote * 3 and quote * 3 not in text[3:-3]:
            return text[3:-3]
    if _DECIMAL.fullmatch(text) is not None:
        return float(text)
    return ast.literal_eval(text)
