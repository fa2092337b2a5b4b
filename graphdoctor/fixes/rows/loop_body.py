"""The statements of a loop over selected rows, taken out of the tests of whether there are any rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from graphdoctor.fixes.analysis.purity import called, calls
from graphdoctor.fixes.analysis.selected_rows import RowsTest, rows_test
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.model.findings import Edit
from graphdoctor.syntax.walk import walk


@dataclass
class Body:
    """The small statements of a loop in order, each with the number of levels that it moves left."""

    statements: list[tuple[cst.BaseSmallStatement, int]] = field(default_factory=list)
    #: Those before the first test, which already run in each round.
    always: set[cst.BaseSmallStatement] = field(default_factory=set)
    tests: list[RowsTest] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    #: Lines that move left, by how many characters.
    moved: dict[int, int] = field(default_factory=dict)


def body_of(loop: cst.For, editor: Editor) -> Body:
    """Raises Refuse where the loop does more than compute rows."""
    body = Body()
    _block(loop.body, body, editor, 0)
    return body


def _block(block: cst.BaseSuite, body: Body, editor: Editor, depth: int) -> None:
    if not isinstance(block, cst.IndentedBlock):
        raise Refuse("the loop or a branch in it stands on one line")
    for line in block.body:
        if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1:
            if not isinstance(line.body[0], cst.Pass):
                body.statements.append((line.body[0], depth))
                body.always |= set() if body.tests else {line.body[0]}
        elif isinstance(line, cst.If):
            _branch(line, line is block.body[-1], body, editor, depth)
        else:
            raise Refuse(f"line {editor.location(line).line} of the loop does more than compute the rows")


def _branch(branch: cst.If, is_last: bool, body: Body, editor: Editor, depth: int) -> None:
    test = rows_test(branch.test)
    line = editor.location(branch).line
    if test is None:
        raise Refuse(f"line {line} of the loop tests more than whether there are rows")
    body.tests.append(test)
    if not test.some:
        jumps = [n for n in walk(branch.body) if isinstance(n, cst.BaseSmallStatement)]
        if len(jumps) != 1 or not isinstance(jumps[0], cst.Continue) or branch.orelse is not None:
            raise Refuse(f"line {line} of the loop does more than pass over an expert without rows")
        body.edits.append(editor.delete(branch))
        return
    if not is_last or not all(_adds_nothing(block) for block in _others(branch.orelse)):
        raise Refuse(f"line {line} of the loop has more to do where there are no rows")
    _take_out(branch, body, editor)
    _block(branch.body, body, editor, depth + 1)


def _others(orelse: cst.If | cst.Else | None) -> Iterator[cst.BaseSuite]:
    while orelse is not None:
        yield orelse.body
        orelse = orelse.orelse if isinstance(orelse, cst.If) else None


def _adds_nothing(block: cst.BaseSuite) -> bool:
    """``y[0, 0] += 0 * sum(...)``, which only gives parameters a gradient; each expert has one now."""
    small = [n for n in walk(block) if isinstance(n, cst.BaseSmallStatement)]
    if len(small) == 1 and isinstance(small[0], (cst.Pass, cst.Continue)):
        return True
    if len(small) != 1 or not isinstance(small[0], cst.AugAssign) or not isinstance(small[0].operator, cst.AddAssign):
        return False
    value = small[0].value
    if not isinstance(value, cst.BinaryOperation) or not isinstance(value.operator, cst.Multiply):
        return False
    return any(_is_zero(side) for side in (value.left, value.right)) and any(
        called(c) in ("sum", "mean") for c in calls(value)
    )


def _is_zero(node: cst.BaseExpression) -> bool:
    return isinstance(node, (cst.Integer, cst.Float)) and node.evaluated_value == 0


def _take_out(branch: cst.If, body: Body, editor: Editor) -> None:
    """Delete the line of the test and what stands under ``else``; the lines between them move left."""
    assert isinstance(branch.body, cst.IndentedBlock)
    place, test = editor.location(branch), editor.location(branch.test)
    first, last = editor.location(branch.body.body[0]), editor.location(branch.body.body[-1])
    path, by = editor.path, first.column - place.column
    editor.indent_of(branch)
    body.edits.append(Edit(path, (place.line, 1), (test.end_line + 1, 1), ""))
    for line in range(test.end_line + 1, last.end_line + 1):
        body.moved[line] = body.moved.get(line, 0) + by
    if branch.orelse is not None:
        body.edits.append(Edit(path, (last.end_line, last.end_column), (place.end_line, place.end_column), ""))


def moves(body: Body, changed: Sequence[Edit], editor: Editor) -> Iterator[Edit]:
    """The edits that move lines left, but for those inside of what ``changed`` replaces."""
    inside = {line for edit in changed for line in range(edit.start[0] + 1, edit.end[0] + 1)}
    gone = {line for edit in body.edits for line in range(edit.start[0], edit.end[0]) if edit.start[1] == 1}
    for line, by in body.moved.items():
        if line not in inside and line not in gone and not editor.is_blank(line):
            yield Edit(editor.path, (line, 1), (line, 1 + by), "")
