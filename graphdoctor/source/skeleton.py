"""A module without its function bodies, and the bodies parsed one by one when they are asked for.

What a scanned file imports is ten to a hundred times its own size, and of that a scan reads a few functions. libcst's
parser costs ten times what ``ast`` costs, so ``ast`` says where the bodies are, and libcst gets only what is read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from graphdoctor.source.text import split_lines

#: The one name in a body that was left out, followed by its index.
_MARK = "__graphdoctor_body_"

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Skeleton:
    """``text`` is the module with a mark in place of each function body; ``bodies`` are the texts left out."""

    text: str
    bodies: tuple[str, ...]

    def body(self, function: cst.FunctionDef) -> cst.BaseSuite:
        """The body of a function of the skeleton's tree. Functions inside it are complete."""
        index = _marked(function.body)
        return function.body if index is None else _parse_body(self.bodies[index])


def skeleton(text: str, tree: ast.Module) -> Skeleton:
    """The skeleton of the module ``text``, which ``tree`` is the syntax tree of."""
    lines = split_lines(text)
    bodies: list[str] = []
    kept: list[str] = []
    done = 0
    for function in _outermost(tree):
        first = _first_line(function.body[0]) - 1
        end = function.body[-1].end_lineno or function.body[-1].lineno
        if not _starts_line(function.body[0], first, lines):
            continue
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        kept += [*lines[done:first], f"{indent}{_MARK}{len(bodies)}"]
        bodies.append("\n".join(lines[first:end]))
        done = end
    return Skeleton("\n".join([*kept, *lines[done:]]), tuple(bodies))


def _outermost(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions that are not inside a function, in source order."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, _Function):
            yield node
        else:
            # Statements are only below statements, handlers and match cases; expressions hold no ``def``.
            below = [n for n in ast.iter_child_nodes(node) if not isinstance(n, ast.expr)]
            stack.extend(reversed(below))


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)])


def _starts_line(statement: ast.stmt, line: int, lines: list[str]) -> bool:
    """False for ``def f(): return 1``, and where the line before ends in a backslash."""
    indent = len(lines[line]) - len(lines[line].lstrip())
    return statement.col_offset == indent and not lines[line - 1].rstrip().endswith("\\")


def _marked(body: cst.BaseSuite) -> int | None:
    """The index in the mark that ``body`` consists of, or None where it is a real body."""
    statement = body.body[0] if isinstance(body, cst.IndentedBlock) else None
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    if isinstance(small, cst.Expr) and isinstance(small.value, cst.Name) and small.value.value.startswith(_MARK):
        return int(small.value.value.removeprefix(_MARK))
    return None


def _parse_body(text: str) -> cst.BaseSuite:
    # ``async``, because libcst takes ``await`` only there and everything else anywhere.
    (function,) = cst.parse_module(f"async def function():\n{text}\n").body
    assert isinstance(function, cst.FunctionDef)
    return function.body
