"""The first look at a file: what Python's own parser rejects, or what would overflow libcst, is not analysed."""

from __future__ import annotations

import ast
import warnings

from graphdoctor.source.errors import SourceError

#: Levels of the syntax tree. libcst's parser has no limit: at about 9,000 it overflows a stack of 8 MB, which ends the
#: process. How deep ``ast`` itself goes depends on the version of Python (3,000 in 3.11, over 9,000 in 3.10 and 3.13).
MAX_NESTING = 3_000


def check(text: str) -> ast.Module:
    """The syntax tree of ``text`` by ``ast``, ten times cheaper than by libcst. Raises SourceError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except SyntaxError as error:
        raise SourceError(f"syntax error in line {error.lineno}: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise SourceError("too deeply nested to parse") from None
    except ValueError as error:
        raise SourceError(str(error)) from None
    if _is_deep(tree):
        raise SourceError("too deeply nested to parse")
    return tree


def _is_deep(tree: ast.AST) -> bool:
    level = [tree]
    for _ in range(MAX_NESTING):
        level = [child for node in level for child in ast.iter_child_nodes(node) if _may_be_deep(child)]
        if not level:
            return False
    return True


def _may_be_deep(node: ast.AST) -> bool:
    """False for what stands on one line and is too short; that is nearly everything, so the check costs little."""
    start, end = getattr(node, "col_offset", None), getattr(node, "end_col_offset", None)
    if start is None or end is None:
        return True
    several_lines: bool = node.lineno != node.end_lineno  # type: ignore[attr-defined]
    return several_lines or end - start > MAX_NESTING
