"""Code that its line may run without: an operand after ``or``, an arm of ``a if c else b``, the body of a lambda."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from graphdoctor.source.errors import SourceError
from graphdoctor.source.text import split_lines
from graphdoctor.syntax.parse_check import check

#: First line and column of a span, last line and column: from 1, columns in characters, the last exclusive.
Span = tuple[int, int, int, int]

_WITH_A_BODY = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp)


def may_be_passed_over(text: str, span: Span) -> bool:
    """Whether ``span`` lies in such code of ``text``; False for a text that does not parse."""
    return any(start <= span[:2] and span[2:] <= end for start, end in _spans(text))


@lru_cache(maxsize=16)
def _spans(text: str) -> tuple[tuple[tuple[int, int], tuple[int, int]], ...]:
    try:
        tree = check(text)
    except SourceError:
        return ()
    lines = split_lines(text)

    def place(line: int, byte: int) -> tuple[int, int]:
        return line, len(lines[line - 1].encode()[:byte].decode(errors="replace")) + 1

    return tuple(
        (place(node.lineno, node.col_offset), place(node.end_lineno or 0, node.end_col_offset or 0))
        for parent in ast.walk(tree)
        for node in _passed_over(parent)
    )


def _passed_over(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    if isinstance(node, ast.BoolOp):
        yield from node.values[1:]
    elif isinstance(node, ast.Compare):
        yield from node.comparators[1:]
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    elif isinstance(node, ast.Lambda):
        yield node.body
    elif isinstance(node, ast.DictComp):
        yield from (node.key, node.value)
    elif isinstance(node, _COMPREHENSIONS):
        yield node.elt
    elif isinstance(node, _WITH_A_BODY):
        # Elsewhere the body has lines of its own.
        yield from (statement for statement in node.body if statement.lineno == node.lineno)
