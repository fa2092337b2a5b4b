"""How a loop gives back the rows that it computed: added up in a result, or written into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse

#: Methods that add up rows: dimension, index, rows.
ADDS = frozenset({"index_add_", "index_add", "scatter_add_", "scatter_add"})


@dataclass(frozen=True)
class RowSum:
    """``out[index] += value``, ``out[index] = value``, or a call that adds ``value`` up at ``index``."""

    statement: cst.BaseSmallStatement
    kind: Literal["call", "add", "write"]
    out: cst.BaseExpression
    index: Sequence[cst.BaseExpression]
    value: cst.BaseExpression


def row_sum(statement: cst.BaseSmallStatement, editor: Editor) -> RowSum | None:
    """The sum that ``statement`` is; None for any other statement."""
    if isinstance(statement, cst.AugAssign):
        if not isinstance(statement.target, cst.Subscript):
            return None
        if not isinstance(statement.operator, cst.AddAssign):
            raise Refuse(f"`{editor.code(statement.target)}` is changed by more than a sum")
        return RowSum(statement, "add", *_place(statement.target, editor), statement.value)
    if isinstance(statement, cst.Assign) and isinstance(statement.targets[0].target, cst.Subscript):
        target, value = statement.targets[0].target, statement.value
        is_sum = isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add)
        if isinstance(value, cst.BinaryOperation) and is_sum and value.left.deep_equals(target):
            return RowSum(statement, "add", *_place(target, editor), value.right)
        return RowSum(statement, "write", *_place(target, editor), value)
    call = statement.value if isinstance(statement, (cst.Expr, cst.Assign)) else None
    if not isinstance(call, cst.Call) or called(call) not in ADDS or not isinstance(call.func, cst.Attribute):
        return None
    if len(call.args) != 3 or any(a.keyword is not None for a in call.args):
        raise Refuse(f"`{called(call)}` does not just add up")
    return RowSum(statement, "call", call.func.value, (call.args[1].value,), call.args[2].value)


def _place(target: cst.Subscript, editor: Editor) -> tuple[cst.BaseExpression, Sequence[cst.BaseExpression]]:
    """``out`` and the indices of ``out[a, b, :]``."""
    elements = [e.slice for e in target.slice]
    while elements and isinstance(elements[-1], cst.Slice) and editor.code(target).endswith(":]"):
        last = elements[-1]
        if last.lower is not None or last.upper is not None or last.step is not None:
            break
        elements.pop()
    indices = [e.value for e in elements if isinstance(e, cst.Index) and e.star is None]
    if len(indices) != len(elements) or not isinstance(target.value, (cst.Name, cst.Attribute)):
        raise Refuse(f"`{editor.code(target)}` is no plain choice of rows")
    return target.value, indices
