"""What breaks show that the source alone may not: which expressions are tensors, what was compiled. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graphdoctor.model.findings import Finding, Location
from graphdoctor.source.text import split_lines

if TYPE_CHECKING:
    from graphdoctor.model.runs import Break

#: Dynamo's ids of a branch on tensor data, and of tensor data that becomes a Python number.
_BRANCH = frozenset({"GB0170"})
_NUMBER = frozenset({"GB0124"})
_METHODS = ("item", "tolist")
_CONVERSIONS = ("bool", "int", "float")

#: First line and column, last line and the column behind the end; all are counted from 1.
Span = tuple[int, int, int, int]


@dataclass(frozen=True)
class RunFacts:
    """What a run has shown of one file: expressions that are tensors, and functions that were compiled."""

    tensors: frozenset[Span] = frozenset()
    functions: frozenset[str] = frozenset()


def facts_of(
    breaks: Iterable[Break], findings: Iterable[Finding], texts: Mapping[str, str], files: Mapping[str, Path]
) -> dict[Path, RunFacts]:
    """What those ``breaks`` show that none of ``findings`` expects on their line.

    ``texts`` and ``files`` are the user's, by the paths that are shown; the result is by file.
    """
    known = {(found.location.path, line) for found in findings if found.gb_ids for line in _lines(found.location)}
    by_path: dict[str, list[Break]] = {}
    for brk in breaks:
        if brk.owner == "own" and brk.gb_id and brk.path in texts and (brk.path, brk.line) not in known:
            by_path.setdefault(brk.path, []).append(brk)
    facts: dict[Path, RunFacts] = {}
    for path, group in by_path.items():
        shown = RunFacts(tensor_places(texts[path], group), frozenset(brk.function for brk in group))
        facts |= {files[path]: shown, files[path].resolve(): shown}
    return facts


def tensor_places(text: str, breaks: Iterable[Break]) -> frozenset[Span]:
    """The expressions of ``text``, a file, that ``breaks`` in it show to be tensors."""
    gb_ids = {(b.line, b.column): b.gb_id for b in breaks if b.gb_id in _BRANCH | _NUMBER and b.column is not None}
    if not gb_ids:
        return frozenset()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    lines = split_lines(text)
    found = set()
    for node in ast.walk(tree):
        for at, tensor, ids in (*_branches(node), *_numbers(node)):
            if gb_ids.get(_span(at, lines)[:2]) in ids:
                found.add(_span(tensor, lines))
    return frozenset(found)


def _lines(place: Location) -> range:
    return range(place.line, place.end_line + 1)


def _branches(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, ast.expr, frozenset[str]]]:
    """Each condition that ``node`` tests, and the places that Dynamo gives for it: its own, or that of ``node``."""
    if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        conditions = tuple(_operands(node.test))
        for condition in conditions:
            yield condition, condition, _BRANCH
        if len(conditions) == 1:
            yield node, conditions[0], _BRANCH


def _operands(test: ast.expr) -> Iterator[ast.expr]:
    """The conditions that ``test`` puts together."""
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _operands(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _operands(test.operand)
    else:
        yield test


def _numbers(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr, frozenset[str]]]:
    """``x`` of ``x.item()`` and of ``int(x)``."""
    if not isinstance(node, ast.Call):
        return
    if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS and not node.args:
        yield node, node.func.value, _NUMBER
    elif isinstance(node.func, ast.Name) and node.func.id in _CONVERSIONS and len(node.args) == 1:
        yield node, node.args[0], _NUMBER


def _span(node: ast.expr | ast.stmt, lines: list[str]) -> Span:
    """The place of ``node`` in characters; the tree counts bytes."""

    def column(line: int, offset: int) -> int:
        return len(lines[line - 1].encode()[:offset].decode(errors="replace")) + 1

    end_line, end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    return node.lineno, column(node.lineno, node.col_offset), end_line, column(end_line, end)


def span_of(place: Location) -> Span:
    """``place`` without its path."""
    return place.line, place.column, place.end_line, place.end_column
