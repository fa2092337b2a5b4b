"""Parts of one rewrite that change the same code: the smaller one is made in what the larger one writes.

A choice is written of both sides of a branch, and in one of them the number that decided is used: ``n`` becomes a
tensor, so what is computed with it is written in another way there, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes.core.apply import apply, overlap
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.guards import LINE_LENGTH
from graphdoctor.model.findings import Edit
from graphdoctor.source.errors import SourceError
from graphdoctor.source.text import line_starts
from graphdoctor.syntax.parse_check import check
from graphdoctor.syntax.walk import walk

#: Expressions that mean something else beside an operator that binds tighter.
_LOOSE = (
    cst.BinaryOperation, cst.BooleanOperation, cst.Comparison, cst.IfExp, cst.Lambda, cst.NamedExpr, cst.UnaryOperation,
    cst.Await, cst.Tuple, cst.Yield,
)  # fmt: skip


@dataclass(frozen=True)
class _Part:
    """An expression as it was, and as the smaller rewrite leaves it."""

    before: str
    after: str
    is_loose: bool


def merged(edits: tuple[Edit, ...], editor: Editor) -> tuple[Edit, ...]:
    """``edits`` of which none overlap. Raises ValueError where one cannot be made in what another one writes."""
    made: set[int] = set()
    parts = sorted(dict.fromkeys(edits), key=lambda edit: _size(edit, editor))
    for number, inner in enumerate(parts):
        around = [index for index in range(number + 1, len(parts)) if overlap(inner, parts[index])]
        if not around:
            continue
        outer = parts[around[0]]
        if len(around) > 1 or not (outer.start <= inner.start and inner.end <= outer.end):
            raise ValueError("edits overlap, and none holds the other")
        parts[around[0]] = _made_in(outer, inner, editor)
        made.add(number)
    left = tuple(part for number, part in enumerate(parts) if number not in made)
    # What is written must be Python: an expression may stand in other surroundings than in the source.
    try:
        check(apply(editor.module.text, left))
    except SourceError as error:
        raise ValueError("the parts of the rewrite do not fit together") from error
    return left


def as_one(edits: Sequence[Edit], whole: cst.CSTNode, editor: Editor) -> Sequence[Edit]:
    """``edits`` with one in place of those in ``whole``: another fix has to see that all its lines move."""
    place = editor.location(whole)
    start, end = (place.line, place.column), (place.end_line, place.end_column)
    inside = [edit for edit in edits if start <= edit.start and edit.end <= end]
    try:
        moved = apply(editor.module.text, inside)
    except ValueError:
        raise Refuse("two parts of the rewrite would change the same code") from None
    begin, stop = _span(start, end, editor)
    one = Edit(editor.path, start, end, moved[begin : len(moved) - len(editor.module.text) + stop])
    return [*(edit for edit in edits if edit not in inside), one]


def _size(edit: Edit, editor: Editor) -> int:
    begin, end = _span(edit.start, edit.end, editor)
    return end - begin


def _span(start: tuple[int, int], end: tuple[int, int], editor: Editor) -> tuple[int, int]:
    starts = line_starts(editor.module.text)
    return starts[start[0] - 1] + start[1] - 1, starts[end[0] - 1] + end[1] - 1


def _made_in(outer: Edit, inner: Edit, editor: Editor) -> Edit:
    """``outer``, with what ``inner`` changes changed in its text, wherever that has the expression."""
    begin, end = _span(outer.start, outer.end, editor)
    source = editor.module.text[begin:end]
    for part in _parts(outer, inner, editor):
        pattern = _pattern(part)
        if len(re.findall(pattern, source)) == 1 and re.search(pattern, outer.text):
            text = re.sub(pattern, lambda _, part=part: part.after, outer.text)  # type: ignore[misc]
            return Edit(outer.path, outer.start, outer.end, _laid_out(text, outer, editor))
    raise ValueError("what the larger edit writes does not have the code that the smaller one changes")


def _laid_out(text: str, outer: Edit, editor: Editor) -> str:
    """``text``, in lines that are not too long where it ends an assignment or a return of what a call gives."""
    before = list(editor.module.lines)[outer.start[0] - 1][: outer.start[1] - 1]
    start = before.lstrip()
    lines = (before + text).split(editor.newline)
    if "#" in text or all(len(line) <= LINE_LENGTH for line in lines) or start not in ("", "return "):
        return text
    statement, *others = cst.parse_module(start + text).body
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    if others or not isinstance(small, (cst.Assign, cst.Return)) or not isinstance(small.value, cst.Call):
        return text
    code = editor.module.tree.code_for_node
    value = ", ".join(code(arg.with_changes(comma=cst.MaybeSentinel.DEFAULT)).rstrip() for arg in small.value.args)
    head = code(small.with_changes(value=cst.Name("_"), semicolon=cst.MaybeSentinel.DEFAULT))[:-1]
    indent = before[: len(before) - len(start)]
    return editor.statement(indent, head, f"{code(small.value.func)}({value})").removeprefix(start)


def _parts(outer: Edit, inner: Edit, editor: Editor) -> Iterator[_Part]:
    """The expressions around ``inner`` that ``outer`` replaces, the largest first: it is the least likely to recur."""
    text = editor.module.text
    begin, end = _span(inner.start, inner.end, editor)
    for node in walk(editor.module.tree):
        if not isinstance(node, cst.BaseExpression) or isinstance(node, cst.Name):
            continue
        place = editor.location(node)
        first, last = (place.line, place.column), (place.end_line, place.end_column)
        if outer.start <= first <= inner.start and inner.end <= last <= outer.end:
            start, stop = _span(first, last, editor)
            after = text[start:begin] + inner.text + text[end:stop]
            yield _Part(text[start:stop], after, _is_loose(node, after))


def _is_loose(node: cst.BaseExpression, after: str) -> bool:
    try:
        written = cst.parse_expression(after)
    except cst.ParserSyntaxError:
        return True
    return isinstance(node, _LOOSE) or (isinstance(written, _LOOSE) and not written.lpar)


def _pattern(part: _Part) -> str:
    """Where the expression stands, and no longer one that only begins or ends like it."""
    code = re.escape(part.before)
    if not part.is_loose:
        return rf"(?<![\w.]){code}(?!\w)"
    before = r"(?:^|(?<=[(\[{\n])|(?<=[(,=\[{:]\s)|(?<=return )|(?<=\s\s))"
    return rf"{before}{code}(?=\s*(?:[),\]}}:\n]|$))"
