"""Functions that only take the steps of optimizers, which torch's guide has users compile. Pure."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

#: What Dynamo says of the call of an optimizer or a scheduler, which torch keeps it from tracing on purpose.
_OF_OPTIMIZER = re.compile(r"torch[./]optim[./]")


def is_of_optimizer(message: str) -> bool:
    """Whether Dynamo breaks at the call of an optimizer or a scheduler of torch's."""
    return _OF_OPTIMIZER.search(message) is not None


def takes_steps_only(text: str, line: int) -> bool:
    """Whether the function around ``line`` does nothing but call ``step``.

    torch breaks once at such a call, and compiles the update after that.
    """
    around = [only for first, last, only in _functions(text) if first <= line <= last]
    return bool(around) and around[-1]


@lru_cache(maxsize=64)
def _functions(text: str) -> tuple[tuple[int, int, bool], ...]:
    """First and last line of each function and lambda, and whether it only takes steps; outer ones first."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    found: list[tuple[int, int, bool]] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append((node.lineno, node.end_lineno or node.lineno, all(map(_is_step_or_text, node.body))))
        elif isinstance(node, ast.Lambda):
            found.append((node.lineno, node.end_lineno or node.lineno, _is_step(node.body)))
    return tuple(sorted(found, key=lambda place: (place[0], -place[1])))


def _is_step_or_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and (_is_step(statement.value) or isinstance(statement.value, ast.Constant))


def _is_step(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "step"
