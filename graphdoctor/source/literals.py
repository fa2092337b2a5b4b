"""What a literal is worth. libcst evaluates its text anew each time it is asked."""

from __future__ import annotations

import ast
from functools import lru_cache

import libcst as cst


def value_of(node: cst.Integer | cst.Float | cst.Imaginary | cst.SimpleString) -> object:
    """The Python value of a number or a string."""
    return _evaluated(node.value)


@lru_cache(maxsize=10_000)
def _evaluated(text: str) -> object:
    # ``literal_eval`` is slow, and leaves closures that refer to themselves to the garbage collector.
    if text.isdecimal():
        return int(text)
    quote, inner = text[0], text[1:-1]
    if quote in "\"'" and quote not in inner and "\\" not in inner:
        return inner
    return ast.literal_eval(text)
