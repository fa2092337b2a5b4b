"""Numbers that tell equal layers apart, as ``self.layer_idx``: no call changes them. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator


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


def _stores(node: ast.AST, inside: bool) -> Iterator[tuple[str, bool]]:
    """The attributes that are written below ``node``, each with whether that is in a constructor."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store):
            yield child.attr, inside
        yield from _stores(child, child.name == "__init__" if isinstance(child, ast.FunctionDef) else inside)
