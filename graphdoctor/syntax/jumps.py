"""The tests of conditions that begin on a line before: Python gives the jump the position of the whole condition."""

from __future__ import annotations

import ast
from functools import lru_cache

from graphdoctor.source.errors import SourceError
from graphdoctor.syntax.parse_check import check

_WITH_A_TEST = (ast.Assert, ast.If, ast.IfExp, ast.While)


def tests_below(text: str, line: int) -> tuple[tuple[int, int], ...]:
    """First and last line of the tests in ``text`` that stand below ``line``, where their condition begins."""
    return tuple((first, last) for begin, first, last in _tests(text) if begin == line)


@lru_cache(maxsize=16)
def _tests(text: str) -> tuple[tuple[int, int, int], ...]:
    try:
        tree = check(text)
    except SourceError:
        return ()
    found = ((node, node.test) for node in ast.walk(tree) if isinstance(node, _WITH_A_TEST))
    return tuple(
        (node.lineno, test.lineno, test.end_lineno or test.lineno)
        for node, test in found
        if (test.end_lineno or test.lineno) > node.lineno
    )
