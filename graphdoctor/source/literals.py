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
    return ast.literal_eval(text)
