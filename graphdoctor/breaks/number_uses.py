"""What a line of source does with a number that is guarded, which decides whether a tensor can take its place. Pure."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator

from graphdoctor.breaks.locations import code_at

_SIZES = ("shape", "size")
_DIMENSIONS = ("dim", "dims", "axis", "axes")


def is_beside_indices(code: str, name: str) -> bool:
    """Whether ``code`` uses the number ``name`` as one of several indices: ``cache[:, pos]``.

    There Dynamo makes a constant of it, and of a 0-d tensor in its place; in ``cache[pos]`` a number stays symbolic.
    """
    return any(
        _mentions(index, name)
        for node in _nodes(code)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple)
        for index in node.slice.elts
        if not isinstance(index, ast.Slice)
    )


def names_dimension(code: str, name: str) -> bool:
    """Whether the number ``name`` says in ``code`` which dimension is meant: ``x.mean(dim=d)``."""
    return any(
        isinstance(node, ast.keyword) and node.arg in _DIMENSIONS and _mentions(node.value, name)
        for node in _nodes(code)
    )


def counts_loop(code: str, name: str) -> bool:
    """Whether the number ``name`` says in ``code`` how often a loop goes round."""
    return any(_mentions(call, name) for call in _ranges(_nodes(code)))


def loops_over_size(text: str, line: int) -> bool:
    """Whether the innermost function around ``line`` of ``text`` counts a loop by the size of a tensor.

    The size may have a name there: ``steps = x.shape[1]``.
    """
    nodes = list(_nodes(code_at(text, line)))
    named = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and _has_size(node.value)
        for each in node.targets
        for target in ast.walk(each)
        if isinstance(target, ast.Name)
    }
    return any(_has_size(call) or any(_mentions(call, name) for name in named) for call in _ranges(nodes))


def loop_over_dimension(text: str, lines: Container[int], dimension: int) -> int | None:
    """The first of ``lines`` of ``text`` with a loop that goes round as often as a tensor is long in ``dimension``."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    for function in (node for node in _nodes(text) if isinstance(node, functions)):
        nodes = list(ast.walk(function))
        named = {
            name
            for node in nodes
            if isinstance(node, ast.Assign)
            for target in node.targets
            if (name := _named_size(target, node.value, dimension))
        }
        for loop in nodes:
            if not isinstance(loop, ast.For) or loop.lineno not in lines:
                continue
            for call in _ranges(ast.walk(loop.iter)):
                if any(_is_size(part, dimension) or _is_one_of(part, named) for part in call.args):
                    return loop.lineno
    return None


def _named_size(target: ast.AST, value: ast.AST, dimension: int) -> str:
    """The name that gets the size in ``dimension``: ``n = x.shape[1]`` or ``b, n, d = x.shape``."""
    if isinstance(target, ast.Tuple) and _is_shape(value) and dimension < len(target.elts):
        starred = any(isinstance(each, ast.Starred) for each in target.elts)
        target = target.elts[dimension] if not starred else target
    elif not _is_size(value, dimension):
        return ""
    return target.id if isinstance(target, ast.Name) else ""


def _is_shape(node: ast.AST) -> bool:
    called = node.func if isinstance(node, ast.Call) and not node.args else node
    return isinstance(called, ast.Attribute) and called.attr == ("size" if called is not node else "shape")


def _is_size(node: ast.AST, dimension: int) -> bool:
    """``x.shape[1]`` or ``x.size(1)``."""
    if isinstance(node, ast.Subscript):
        return _is_shape(node.value) and _is_number(node.slice, dimension)
    of_size = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size"
    return of_size and isinstance(node, ast.Call) and any(_is_number(each, dimension) for each in node.args)


def _is_number(node: ast.AST, number: int) -> bool:
    return isinstance(node, ast.Constant) and node.value == number


def _is_one_of(node: ast.AST, names: Container[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _has_size(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Attribute) and part.attr in _SIZES for part in ast.walk(node))


def _ranges(nodes: Iterator[ast.AST] | list[ast.AST]) -> Iterator[ast.Call]:
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
            yield node


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(part, (ast.Name, ast.Attribute)) and ast.unparse(part) == name for part in ast.walk(node))


def _nodes(code: str) -> Iterator[ast.AST]:
    """The nodes of ``code``, which may be the head of a statement; none where it is a part of one."""
    lines = code.split("\n")
    indent = len(lines[0]) - len(lines[0].lstrip())
    text = "\n".join(line[indent:] for line in lines)
    for whole in (text, f"{text} pass"):
        try:
            return ast.walk(ast.parse(whole))
        except (SyntaxError, ValueError, RecursionError):
            continue
    return iter(())
