"""What the source says of names that a guard is on: no call changes ``self.layer_idx``, each adds to a list. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def is_set_by_constructor(text: str, name: str) -> bool:
    """Whether the source ``text`` sets the attribute ``name``, and does so in ``__init__`` alone.

    False where the text cannot be read.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    places = {inside for attribute, inside in _stores(tree, inside=False) if attribute == name}
    return places == {True}


def is_from_outside(text: str, line: int, name: str) -> bool:
    """Whether the innermost function around ``line`` of ``text`` reads ``name`` from outside of it.

    False where the text cannot be read.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    around = [node for node in ast.walk(tree) if isinstance(node, _FUNCTION) and _first(node) <= line <= _last(node)]
    if not around:
        return False
    nodes = list(ast.walk(max(around, key=_first)))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound = {node.arg for node in nodes if isinstance(node, ast.arg)}
    bound |= {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    return name in {node.id for node in names} - bound


def is_in_plain_class(text: str, line: int) -> bool:
    """Whether the innermost class around ``line`` of ``text`` derives from nothing, so that it is no module.

    False where there is none, and where the text cannot be read.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    around = [node for node in classes if node.lineno <= line <= (node.end_lineno or node.lineno)]
    return bool(around) and not max(around, key=lambda node: node.lineno).bases


def _first(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The line of the first decorator, where Python has a function begin."""
    return min((function.lineno, *(decorator.lineno for decorator in function.decorator_list)))


def _last(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return function.end_lineno or function.lineno


def _stores(node: ast.AST, inside: bool) -> Iterator[tuple[str, bool]]:
    """The attributes that are written below ``node``, each with whether that is in a constructor."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store):
            yield child.attr, inside
        yield from _stores(child, child.name == "__init__" if isinstance(child, ast.FunctionDef) else inside)
