"""``if not torch.compiler.is_compiling():`` in few lines: as a part of the test around, or in the guard right above."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from graphdoctor.model.findings import Edit
from graphdoctor.source.text import line_starts

if TYPE_CHECKING:
    from graphdoctor.fixes.core.editor import Editor

#: Lines that a rewrite makes longer than this are broken.
LINE_LENGTH = 120
EAGER_ONLY = "not torch.compiler.is_compiling()"
_HEADER = f"if {EAGER_ONLY}:"
#: What stands between two statements of which one is right below the other: at most a comment behind the first one.
_NEXT_LINE = re.compile(r"[ \t]*(?:#[^\r\n]*)?(\r\n|\n|\r)([ \t]*)")
#: Tests that bind looser than ``and``.
_LOOSE = (cst.IfExp, cst.Lambda, cst.NamedExpr)


def in_test(statement: cst.CSTNode, editor: Editor) -> Edit | None:
    """The guard as a part of the test around ``statement``, where this is all that the test decides.

    ``if debug: print(x)`` becomes ``if debug and not torch.compiler.is_compiling(): print(x)``, and an ``else`` an
    ``elif``. None where it does not fit. The edit goes on to the end of ``statement``, which no other one may guard.
    """
    small = editor.statement_of(statement)
    line = editor.parent(small)
    block = editor.parent(line) if isinstance(line, cst.SimpleStatementLine) else line
    if not isinstance(line, (cst.SimpleStatementLine, cst.SimpleStatementSuite)) or len(line.body) > 1:
        return None
    if not isinstance(block, (cst.IndentedBlock, cst.SimpleStatementSuite)) or len(block.body) > 1:
        return None
    outer = editor.parent(block)
    if isinstance(outer, cst.Else) and isinstance(editor.parent(outer), cst.If):
        return _edit(outer, small, (0, len("else"), f"elif {EAGER_ONLY}"), editor)
    if not isinstance(outer, cst.If) or outer.orelse is not None:
        return None
    place = test_in(outer, editor)
    if place is None:
        return None
    test = operand_of_and(outer, place, editor)
    return _edit(outer, small, (*place, f"{test} and {EAGER_ONLY}"), editor)


def test_in(outer: cst.If, editor: Editor) -> tuple[int, int] | None:
    """Where in ``outer``, as written, its test begins and ends, with parentheses; None where these hold a comment."""
    text = editor.module.text
    (start, _), (first, last) = _span(outer, editor), _span(outer.test, editor)
    # The place of an expression is without its parentheses.
    opening = re.search(rf"(?:\(\s*){{{len(outer.test.lpar)}}}\Z", text[start:first])
    closing = re.match(rf"(?:\s*\)){{{len(outer.test.rpar)}}}", text[last:])
    if opening is None or closing is None:
        return None
    return first - len(opening[0]) - start, last + len(closing[0]) - start


def operand_of_and(outer: cst.If, place: tuple[int, int], editor: Editor) -> str:
    """The test of ``outer``, which stands at ``place`` in it, in parentheses where ``and`` binds tighter."""
    test, code = outer.test, written(outer, editor)[place[0] : place[1]]
    is_or = isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.Or)
    return f"({code})" if not test.lpar and (is_or or isinstance(test, _LOOSE)) else code


def written(node: cst.CSTNode, editor: Editor) -> str:
    """The text of ``node`` with the line ends and the indentation of the file."""
    start, end = _span(node, editor)
    return editor.module.text[start:end]


def _span(node: cst.CSTNode, editor: Editor) -> tuple[int, int]:
    """Where ``node`` begins and ends in the text."""
    place, starts = editor.location(node), line_starts(editor.module.text)
    return starts[place.line - 1] + place.column - 1, starts[place.end_line - 1] + place.end_column - 1


def _edit(outer: cst.CSTNode, small: cst.CSTNode, change: tuple[int, int, str], editor: Editor) -> Edit | None:
    """The edit that replaces a part of ``outer``, as (start, end, text), written from there to the end of ``small``."""
    text, (start, _), (_, end) = editor.module.text, _span(outer, editor), _span(small, editor)
    code = text[start:end]
    header = code[: change[0]] + change[2]
    place, last = editor.location(outer), editor.location(small)
    width = place.column + max(map(len, header.split(editor.newline)))
    if width > LINE_LENGTH:
        return None
    return Edit(editor.path, (place.line, place.column), (last.end_line, last.end_column), header + code[change[1] :])


def joined(above: Edit | None, between: str, edit: Edit) -> str:
    """The text of ``edit``, which comes ``between`` after ``above``: without a guard of its own where it can stand in
    that above."""
    gap = _NEXT_LINE.fullmatch(between)
    if gap is None or above is None or above.start[1] != edit.start[1]:
        return edit.text
    newline, indent = gap.groups()
    first, _, body = edit.text.partition(newline)
    guard, _, guarded = above.text.partition(newline)
    is_deeper = all(re.match(rf"{indent}[ \t]", line) for line in [*guarded.split(newline), *body.split(newline)])
    return body.removeprefix(indent) if first == guard == _HEADER and is_deeper else edit.text
