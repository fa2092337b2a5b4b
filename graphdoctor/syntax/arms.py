"""Where two lines stand to each other: in arms of which only one runs, or one on every way to the other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from graphdoctor.source.errors import SourceError
from graphdoctor.syntax.parse_check import check

#: A statement with a body, by its line, and which of its bodies: "body", "orelse", or the number of a case.
Arm = tuple[int, str]

_OF_ONE_RUN = (ast.If, ast.Match)


def are_exclusive(text: str, line: int, other: int) -> bool:
    """Whether no call runs both lines once: they are in two arms of an ``if``, ``elif`` or ``match``."""
    for (at, arm), (at_other, arm_other) in zip(_way(text, line), _way(text, other), strict=False):
        if at != at_other:
            return False
        if arm != arm_other:
            return at in _tree(text)[1]
    return False


def comes_first(text: str, line: int, later: int) -> bool:
    """Whether whatever runs ``later`` has run ``line`` before, which is above it in the same function."""
    way = _way(text, line)
    return line < later and way == _way(text, later)[: len(way)]


@lru_cache(maxsize=256)
def _way(text: str, line: int) -> tuple[Arm, ...]:
    """The statements around ``line`` in whose bodies it lies, the outermost first."""
    tree, _ = _tree(text)
    found: list[Arm] = []
    bodies = list(_bodies(tree)) if tree is not None else []
    while bodies:
        arm, body = bodies.pop()
        inner = next((s for s in body if _first_line(s) <= line <= (s.end_lineno or s.lineno)), None)
        if inner is not None:
            found += [arm]
            bodies = list(_bodies(inner))
    return tuple(found)


def _first_line(statement: ast.stmt) -> int:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return min([statement.lineno, *(decorator.lineno for decorator in statement.decorator_list)])
    return statement.lineno


def _bodies(node: ast.AST) -> Iterator[tuple[Arm, list[ast.stmt]]]:
    at = getattr(node, "lineno", 0)
    for name in ("body", "orelse", "finalbody"):
        body = getattr(node, name, None)
        if isinstance(body, list):
            yield (at, name), body
    for number, inner in enumerate([*getattr(node, "cases", ()), *getattr(node, "handlers", ())]):
        yield (at, str(number)), inner.body


@lru_cache(maxsize=16)
def _tree(text: str) -> tuple[ast.Module | None, frozenset[int]]:
    """The module, and the lines where a statement begins that runs one of its arms."""
    try:
        tree = check(text)
    except SourceError:
        return None, frozenset()
    return tree, frozenset(node.lineno for node in ast.walk(tree) if isinstance(node, _OF_ONE_RUN))
