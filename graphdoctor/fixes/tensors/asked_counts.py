"""Code that asks how many indices or values there are.

``if len(idx) > 0:`` before what only writes to the places ``idx`` needs no test: where there are none, a mask writes
nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

import libcst as cst

from graphdoctor.fixes.branches.branch import branch_of
from graphdoctor.fixes.branches.branch_arms import statements
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.model.findings import Edit

UNASKED = "The selected elements are written without a test: where there are none, autograd still counts a write."
#: Comparisons with a count that ask whether it is more than 0.
_SOME: tuple[tuple[type[cst.BaseCompOp], str], ...] = (
    (cst.GreaterThan, "0"), (cst.GreaterThanEqual, "1"), (cst.NotEqual, "0"),
)  # fmt: skip


def count_of(read: cst.BaseExpression, is_flat: bool, editor: Editor) -> cst.BaseExpression | None:
    """``len(idx)``, ``idx.shape[0]``, ``idx.size(0)`` around ``read``; where it has one dimension ``idx.numel()``."""
    outer = editor.parent(read)
    if isinstance(outer, cst.Arg):
        call = editor.parent(outer)
        is_len = isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and call.func.value == "len"
        return call if is_len and isinstance(call, cst.Call) else None
    user = editor.parent(outer) if isinstance(outer, cst.Attribute) else None
    if not isinstance(user, (cst.Call, cst.Subscript)):
        return None
    rest = editor.code(user).removeprefix(editor.code(read))
    is_number = rest in (".shape[0]", ".size(0)", ".size()[0]") or (rest in (".numel()", ".nelement()") and is_flat)
    return user if is_number else None


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
    lines = [line for s in body for line in written[s].text.split(editor.newline + editor.indent_of(s))]
    if not all(map(_is_statement, lines)):
        return None
    return branch, editor.replace(branch, editor.lines(editor.indent_of(branch), *lines))


def _is_statement(line: str) -> bool:
    try:
        ast.parse(line)
    except SyntaxError:
        return False
    return True


def _asks_for_some(test: cst.CSTNode | None, counted: cst.BaseExpression) -> bool:
    """``counted > 0``, ``counted >= 1`` or ``counted != 0``."""
    if not isinstance(test, cst.Comparison) or test.left is not counted or len(test.comparisons) != 1:
        return False
    (part,) = test.comparisons
    bound = part.comparator.value if isinstance(part.comparator, cst.Integer) else ""
    return (type(part.operator), bound) in _SOME
