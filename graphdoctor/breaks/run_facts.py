"""What the breaks of a run show and the source may not: which expressions are tensors, what was compiled. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graphdoctor.model.findings import Finding, Location
from graphdoctor.source.text import split_lines

if TYPE_CHECKING:
    from graphdoctor.model.runs import Break

#: Dynamo's ids of a branch on tensor data, of a Python number made of it, and of a shape that depends on it.
_BRANCH = frozenset({"GB0170"})
_NUMBER = frozenset({"GB0124", "GB0033"})
_SHAPE = frozenset({"GB0036"})
#: Dynamo's id of a ``sorted`` that compares tensors.
_ORDER = frozenset({"GB0207"})
_METHODS = ("item", "tolist")
_CONVERSIONS = ("bool", "int", "float")

#: First line and column, last line and the column after the end; all are counted from 1.
Span = tuple[int, int, int, int]


@dataclass(frozen=True)
class RunFacts:
    """What a run has shown of one file: expressions that are tensors, and functions that were compiled."""

    tensors: frozenset[Span] = frozenset()
    functions: frozenset[str] = frozenset()
    #: Those of the tensors that are masks, of dtype bool.
    masks: frozenset[Span] = frozenset()


def facts_of(
    breaks: Iterable[Break], findings: Iterable[Finding], texts: Mapping[str, str], files: Mapping[str, Path]
) -> dict[Path, RunFacts]:
    """The facts from those ``breaks`` that none of ``findings`` expects on their line.

    ``texts`` and ``files`` are the user's, by the paths that are shown; the result is by file.
    """
    known = {(found.location.path, line) for found in findings if found.gb_ids for line in _lines(found.location)}
    by_path: dict[str, list[Break]] = {}
    for brk in breaks:
        if brk.owner != "torch" and brk.gb_id and brk.path in texts and (brk.path, brk.line) not in known:
            by_path.setdefault(brk.path, []).append(brk)
    facts: dict[Path, RunFacts] = {}
    for path, group in by_path.items():
        # What broke in a function of a library is not what stands at the user's call of it.
        tensors, masks = tensor_places(texts[path], (brk for brk in group if brk.owner == "own"))
        shown = RunFacts(tensors, frozenset(brk.function for brk in group), masks)
        facts |= {files[path]: shown, files[path].resolve(): shown}
    return facts


def tensor_places(text: str, breaks: Iterable[Break]) -> tuple[frozenset[Span], frozenset[Span]]:
    """The expressions of ``text``, a file, that ``breaks`` in it show to be tensors, and which of them are masks."""
    every = _BRANCH | _NUMBER | _SHAPE | _ORDER
    gb_ids = {(b.line, b.column): b.gb_id for b in breaks if b.gb_id in every}
    #: By place of a break, the tensors that it may be about, each with the masks that select from it.
    found: dict[tuple[int, int | None], dict[Span, frozenset[Span]]] = {}
    try:
        nodes = list(ast.walk(ast.parse(text))) if gb_ids else []
    except (SyntaxError, ValueError, RecursionError):
        nodes = []
    lines = split_lines(text)
    for node in nodes:
        for at, tensor, ids in (*_branches(node), *_numbers(node), *_shapes(node)):
            line, column = _span(at, lines)[:2]
            # Before torch 2.13 a break has a line and no column.
            for place in ((line, column), (line, None)):
                if gb_ids.get(place) in ids:
                    indices = _mask(node) if isinstance(node, ast.Subscript) else ()
                    found.setdefault(place, {})[_span(tensor, lines)] = frozenset(_span(i, lines) for i in indices)
    sure = [there for (_, column), there in found.items() if column is not None or len(there) == 1]
    masks = frozenset(mask for there in sure for each in there.values() for mask in each)
    return frozenset(tensor for there in sure for tensor in there) | masks, masks


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
    """``x`` of ``x.item()`` and of ``int(x)``; a whole ``sorted(...)``, which compares tensors that something holds."""
    if not isinstance(node, ast.Call):
        return
    if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS and not node.args:
        yield node, node.func.value, _NUMBER
    elif isinstance(node.func, ast.Name) and node.func.id in _CONVERSIONS and len(node.args) == 1:
        yield node, node.args[0], _NUMBER
    elif isinstance(node.func, ast.Name) and node.func.id == "sorted" and node.args:
        yield node, node, _ORDER


def _shapes(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr, frozenset[str]]]:
    """``x`` of ``x[mask]`` and of ``x.nonzero()``."""
    if isinstance(node, ast.Subscript):
        yield node, node.value, _SHAPE
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        receiver = node.func.value
        if not (isinstance(receiver, ast.Name) and receiver.id == "torch"):
            yield node, receiver, _SHAPE


def _mask(node: ast.Subscript) -> Sequence[ast.expr]:
    """``m`` of ``x[m]``, ``x[m, :]`` and ``x[..., m]``: the one index that is computed."""
    every = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    computed = [index for index in every if not isinstance(index, (ast.Slice, ast.Constant))]
    return computed if len(computed) == 1 else ()


def _span(node: ast.expr | ast.stmt, lines: list[str]) -> Span:
    """The place of ``node`` in characters; the tree counts bytes."""

    def column(line: int, offset: int) -> int:
        return len(lines[line - 1].encode()[:offset].decode(errors="replace")) + 1

    end_line, end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    return node.lineno, column(node.lineno, node.col_offset), end_line, column(end_line, end)


def span_of(place: Location) -> Span:
    """``place`` without its path."""
    return place.line, place.column, place.end_line, place.end_column
