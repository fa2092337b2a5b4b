"""Which attributes of a class are counters: its methods add to them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence


def counters_of(node: ast.ClassDef, lines: Sequence[str]) -> frozenset[str]:
    """The attributes that the methods of a class add to, constructors left out; ``lines`` are those of its file.

    ``self.n += 1`` and ``self.n["seen"] -= 1`` both add to ``n``.
    """
    # Few classes have such a line, and looking for it costs far less than walking the tree.
    if not any("+=" in line or "-=" in line for line in lines[node.lineno - 1 : node.end_lineno]):
        return frozenset()
    return frozenset(name for method in _methods(node) for name in _added_to(method))


def _methods(node: ast.AST) -> Iterator[ast.AST]:
    """The functions of a class, and those inside them, each with its own statements only."""
    for child in _statements(node):
        # A class inside has its own counters.
        if isinstance(child, ast.ClassDef):
            continue
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) and child.name != "__init__":
            yield child
        yield from _methods(child)


def _added_to(node: ast.AST) -> Iterator[str]:
    for child in _statements(node):
        if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(child, ast.AugAssign) and isinstance(child.op, (ast.Add, ast.Sub)):
            target = child.target.value if isinstance(child.target, ast.Subscript) else child.target
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
                yield target.attr
        yield from _added_to(child)


#: The fields of a statement that hold statements.
_BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    for block in _BLOCKS:
        yield from getattr(node, block, ())
