"""The first look at a file: what Python's own parser rejects, or what would overflow libcst, is not analysed."""

from __future__ import annotations

import ast
import sys
import warnings
from itertools import accumulate

from graphdoctor.source.errors import SourceError
from graphdoctor.source.text import split_lines

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
        raise SourceError(f"syntax error in line {error.lineno}: {error.msg}{_other_python(error)}") from None
    except (RecursionError, MemoryError):
        raise SourceError("too deeply nested to parse") from None
    except ValueError as error:
        raise SourceError(str(error)) from None
    if _is_deep(tree, [0, *accumulate(map(len, split_lines(text)))]):
        raise SourceError("too deeply nested to parse")
    return tree


def _other_python(error: SyntaxError) -> str:
    """What Python the file may be written for, where it may be another one."""
    said = error.msg or ""
    if said.startswith("Missing parentheses in call to"):
        return " (it is written for Python 2)"
    if isinstance(error, IndentationError) or said.endswith("was never closed"):
        return ""
    # What a later Python accepts is an error for this one.
    read_as = ".".join(map(str, sys.version_info[:2]))
    return f" (read as Python {read_as}: where the file is written for a later one, run graphdoctor with that)"


def _is_deep(tree: ast.AST, ends: list[int]) -> bool:
    level = [tree]
    for _ in range(MAX_NESTING):
        level = [child for node in level for child in ast.iter_child_nodes(node) if _may_be_deep(child, ends)]
        if not level:
            return False
    return True


def _may_be_deep(node: ast.AST, ends: list[int]) -> bool:
    """False for what has too few characters, of which ``ends[n]`` stand up to line n: that is nearly everything."""
    line = getattr(node, "lineno", None)
    return line is None or ends[node.end_lineno] - ends[line - 1] > MAX_NESTING  # type: ignore[attr-defined]
