"""Where code decides: the tests and loops in some lines of a text, and the outcomes that show all of it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

#: A test or a loop: its line (from 1) and column (from 0, in bytes of UTF-8), as ``ast`` counts them.
Place = tuple[int, int]

BOTH = frozenset({True, False})
ENTERED = frozenset({True})

TESTS = (ast.If, ast.IfExp, ast.While, ast.Assert)


def branches(text: str, lines: Collection[int]) -> Mapping[Place, frozenset[bool]]:
    """The tests that begin in ``lines``, which have two outcomes, and the ``for`` loops, whose body runs.

    Empty for a text that does not parse.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    found: dict[Place, frozenset[bool]] = {}
    for node in ast.walk(tree):
        if isinstance(node, TESTS) and node.test.lineno in lines:
            found[node.test.lineno, node.test.col_offset] = BOTH
        elif isinstance(node, ast.For) and node.lineno in lines:
            found[node.lineno, node.col_offset] = ENTERED
    return found
