"""Which statement a line belongs to: findings and breaks are compared by statement."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Statement(NamedTuple):
    """The lines of a statement; of a compound one (``if``, ``for``, ``def``) those of its header."""

    path: str
    first: int
    last: int


def statement_at(path: str, line: int) -> Statement:
    """The innermost statement of the file ``path`` at ``line``; the line alone where there is none."""
    first, last = _spans(path).get(line, (line, line))
    return Statement(path, first, last)


@cache
def _spans(path: str) -> dict[int, tuple[int, int]]:
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return {}
    spans = [_header(node) for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    found: dict[int, tuple[int, int]] = {}
    for first, last in sorted(spans, key=lambda span: span[0] - span[1]):
        found.update(dict.fromkeys(range(first, last + 1), (first, last)))
    return found


def _header(node: ast.stmt) -> tuple[int, int]:
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    body = getattr(node, "body", None)
    if not body:
        return first, node.end_lineno or node.lineno
    inner = min([body[0].lineno, *(d.lineno for d in getattr(body[0], "decorator_list", []))])
    return first, max(first, inner - 1)
