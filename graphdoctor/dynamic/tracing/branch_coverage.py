"""Which way the tests of a file went: ``if``, ``while``, ``assert`` and conditional expressions, and which loops ran.

A test is wrapped when its file is compiled, since both sides of ``a if t else b`` are on one line.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Mapping
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any

from graphdoctor.recorder import definitions
from graphdoctor.syntax.branches import TESTS

#: The name under which the wrapped code finds the recorder.
_RECORDER = "__graphdoctor_test__"

#: The path of a file, the line and column where a test or a loop begins, and its outcome; a loop that runs is True.
Seen = set[tuple[str, int, int, bool]]


def record_tests(lines: Mapping[str, Collection[int]]) -> Seen:
    """From now on, imports of these files (absolute paths) record the tests and loops that begin in these lines.

    So do the definitions of a script, which is not imported.
    """
    seen: Seen = set()
    if not lines:
        return seen

    def record(path: str, line: int, column: int, value: Any) -> bool:
        truth = bool(value)
        seen.add((path, line, column, truth))
        return truth

    setattr(builtins, _RECORDER, record)
    original = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        if path not in lines:
            return original(self, fullname)
        tree = _wrapped(ast.parse(self.get_data(path)), path, lines[path])
        code: CodeType = compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)
        return code

    def watched(tree: ast.Module, path: str) -> ast.Module:
        return _wrapped(tree, path, lines[path]) if path in lines else tree

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]
    definitions.changes.append(watched)
    return seen


def _wrapped(tree: ast.Module, path: str, lines: Collection[int]) -> ast.Module:
    found: ast.Module = _Wrapper(path, lines).visit(tree)
    return found


class _Wrapper(ast.NodeTransformer):
    def __init__(self, path: str, lines: Collection[int]) -> None:
        self._path = path
        self._lines = lines

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, TESTS) and node.test.lineno in self._lines:
            node.test = self._recorded(node.test, node.test)
        elif isinstance(node, ast.For) and node.lineno in self._lines:
            entered = ast.Expr(self._recorded(node, ast.Constant(True)))
            node.body.insert(0, ast.copy_location(entered, node.body[0]))
        return node

    def _recorded(self, place: ast.expr | ast.stmt, value: ast.expr) -> ast.Call:
        numbers: list[ast.expr] = [ast.Constant(place.lineno), ast.Constant(place.col_offset)]
        call = ast.Call(ast.Name(_RECORDER, ast.Load()), [ast.Constant(self._path), *numbers, value], [])
        return ast.copy_location(call, place)
