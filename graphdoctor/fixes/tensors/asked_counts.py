"""``if len(idx) > 0:`` before what only writes to the places ``idx``: where there are none, a mask writes nothing."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from graphdoctor.fixes.branches.branch import branch_of
from graphdoctor.fixes.branches.branch_arms import statements
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.model.findings import Edit

UNASKED = "What is selected is written without asking: where that is nothing, autograd still counts a write."
#: Comparisons with a count that ask whether it is more than 0.
_SOME: tuple[tuple[type[cst.BaseCompOp], str], ...] = (
    (cst.GreaterThan, "0"), (cst.GreaterThanEqual, "1"), (cst.NotEqual, "0"),
)  # fmt: skip


def only_writes(
    counted: cst.BaseExpression, written: Mapping[cst.CSTNode, Edit], editor: Editor
) -> tuple[cst.If, Edit] | None:
    """The branch that asks whether ``counted`` is more than 0, without its test; None where it does more than that.

    ``written`` are the statements that write, and how each is written by the mask.
    """
    test = editor.parent(counted) if _asks_for_some(editor.parent(counted), counted) else counted
    branch = branch_of(test, editor) if test is not None else None
    if not isinstance(branch, cst.If) or branch.test is not test or branch.orelse is not None:
        return None
    body = list(statements(branch.body))
    if editor.code(branch).startswith("elif") or not all(statement in written for statement in body):
        return None
    lines = [written[statement].text for statement in body]
    if any(editor.newline in line for line in lines):
        return None
    return branch, editor.replace(branch, editor.lines(editor.indent_of(branch), *lines))


def _asks_for_some(test: cst.CSTNode | None, counted: cst.BaseExpression) -> bool:
    """``counted > 0``, ``counted >= 1`` or ``counted != 0``."""
    if not isinstance(test, cst.Comparison) or test.left is not counted or len(test.comparisons) != 1:
        return False
    (part,) = test.comparisons
    bound = part.comparator.value if isinstance(part.comparator, cst.Integer) else ""
    return (type(part.operator), bound) in _SOME
