"""The condition under which a line is reached. Pure."""

from __future__ import annotations

import ast
from functools import lru_cache

#: Characters of a condition that are shown.
_LONGEST = 60


def condition_at(text: str, line: int) -> str:
    """The test of the innermost ``if`` around ``line``, within its function: ``n > 0``, or in an else ``not n > 0``.

    Empty where there is none, where it is long, and where ``text`` cannot be read.
    """
    found = ""
    for first, last, test in _branches(text):
        if first <= line <= last:
            found = test
    return found if len(found) <= _LONGEST else ""


@lru_cache(maxsize=64)
def _branches(text: str) -> tuple[tuple[int, int, str], ...]:
    """First and last line of each branch with its condition, and of each function with none; outer ones first."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    found: list[tuple[int, int, str]] = []
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append((node.lineno, node.end_lineno or node.lineno, ""))
        elif isinstance(node, ast.If):
            test = " ".join(ast.unparse(node.test).split())
            negated = f"not ({test})" if isinstance(node.test, (ast.BoolOp, ast.NamedExpr)) else f"not {test}"
            for body, said in ((node.body, test), (node.orelse, negated)):
                # Of a branch on the line of its test, the line alone does not tell the two apart.
                if body and body[0].lineno > (node.test.end_lineno or node.lineno):
                    found.append((body[0].lineno, body[-1].end_lineno or body[-1].lineno, said))
        pending.extend(ast.iter_child_nodes(node))
    return tuple(sorted(found, key=lambda branch: (branch[0], -branch[1])))
