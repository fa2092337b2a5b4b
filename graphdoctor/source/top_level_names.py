"""The names that a source text binds at its top level, without executing it."""

from __future__ import annotations

import ast


def top_level(text: str) -> tuple[str, ...] | None:
    """The names in order, and ``Class.method`` for methods; None where they cannot be known.

    That is so for a text that does not parse, or that imports ``*``.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    names: dict[str, None] = {}
    pending: list[ast.AST] = list(reversed(tree.body))
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names[node.name] = None
            if isinstance(node, ast.ClassDef):
                names |= {f"{node.name}.{item.name}": None for item in node.body if isinstance(item, ast.FunctionDef)}
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                if alias.name == "*":
                    return None
                names[alias.asname or alias.name.partition(".")[0]] = None
        elif isinstance(node, ast.Lambda):
            continue
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id] = None
        else:
            pending.extend(reversed(list(ast.iter_child_nodes(node))))
    return tuple(names)
