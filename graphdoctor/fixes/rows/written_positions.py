"""Positions that a mask selects from an order, and that a number is written to: ``x[order[m]] = v``.

An order has each position once (``torch.sort``, ``argsort``, ``topk``): ``x[order] = x[order].masked_fill(m, v)``
writes the same, over a fixed shape.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from graphdoctor.fixes.analysis.purity import called, words
from graphdoctor.fixes.analysis.types import is_number
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal

#: Functions that give an order as their second result, and as their only one.
_SECOND = words("sort topk")
_ONLY = words("argsort randperm")
_REASON = "All of `{order}` is written: `{number}` where the mask is true, what was there elsewhere."


def write_positions(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``idx = order[m]`` and then ``x[idx] = v``, or both in one line. Raises Refuse where it does not fit."""
    selection = hit.place
    index = selection.slice[0].slice if isinstance(selection, cst.Subscript) and len(selection.slice) == 1 else None
    order = selection.value if isinstance(selection, cst.Subscript) else None
    if not isinstance(selection, cst.Subscript) or not isinstance(index, cst.Index) or not isinstance(order, cst.Name):
        return Refusal("This selects no positions by one mask.")
    store, edits = _store(selection, editor)
    if store is None or not _is_order(order, editor):
        return Refusal("This does not write to positions that a mask selects from an order.")
    target = store.targets[0].target
    assert isinstance(target, cst.Subscript)
    if not isinstance(target.value, cst.Name) or not is_number(store.value, editor):
        raise Refuse(f"`{editor.code(store)}` does not write a number to a tensor with a name")
    known = tensor_of(editor.value(order))
    if known is None or known.ndim != 1:
        raise Refuse(f"`{order.value}` is not shown to have one dimension")
    place, number = f"{target.value.value}[{order.value}]", editor.code(store.value)
    text = f"{place} = {place}.masked_fill({editor.code(index.value)}, {number})"
    reason = _REASON.format(order=place, number=number)
    return FixPlan((*edits, editor.replace(store, text)), "unsafe", reason)


def _store(selection: cst.Subscript, editor: Editor) -> tuple[cst.Assign | None, Sequence[Edit]]:
    """The statement that writes to the positions, and the edit that takes out the name that they had before it."""
    statement = editor.statement_of(selection)
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return None, ()
    if _is_index(selection, statement.targets[0].target, editor):
        return statement, ()
    if statement.value is not selection or not isinstance(statement.targets[0].target, cst.Name):
        return None, ()
    name, function = statement.targets[0].target.value, editor.function_of(statement)
    if function is None:
        return None, ()
    bound = {node for assign in editor.assignments(function, name) for node in _targets(assign)}
    reads = [n for n in editor.mentions(function, name) if n not in bound and not editor.is_label(n)]
    if not all(_bound_right_before(read, name, editor) for read in reads):
        return None, ()
    following = _beside(statement, 1, editor)
    stores = [r for r in reads if editor.statement_of(r) is following]
    if len(stores) != 1 or not isinstance(following, cst.Assign) or len(following.targets) != 1:
        return None, ()
    is_store = _is_index(stores[0], following.targets[0].target, editor)
    return (following, (editor.delete(statement),)) if is_store else (None, ())


def _targets(assign: cst.CSTNode) -> Sequence[cst.CSTNode]:
    return [t.target for t in assign.targets] if isinstance(assign, cst.Assign) else []


def _bound_right_before(read: cst.Name, name: str, editor: Editor) -> bool:
    """Whether the line before that of ``read`` gives it its value, so that no other line can."""
    before = _beside(editor.statement_of(read), -1, editor)
    return isinstance(before, cst.Assign) and [editor.code(t.target) for t in before.targets] == [name]


def _beside(statement: cst.CSTNode, by: int, editor: Editor) -> cst.BaseSmallStatement | None:
    """The statement in the line before or after that of ``statement``, in the same block."""
    line = editor.parent(statement)
    block = editor.parent(line) if line is not None else None
    if not isinstance(block, cst.IndentedBlock):
        return None
    at = list(block.body).index(line) + by  # type: ignore[arg-type]
    beside = block.body[at] if 0 <= at < len(block.body) else None
    is_one = isinstance(beside, cst.SimpleStatementLine) and len(beside.body) == 1
    return beside.body[0] if is_one and isinstance(beside, cst.SimpleStatementLine) else None


def _is_index(node: cst.BaseExpression, target: cst.BaseExpression, editor: Editor) -> bool:
    """Whether ``target`` is ``x[node]``."""
    outer = editor.parent(node)
    is_alone = isinstance(target, cst.Subscript) and len(target.slice) == 1 and target.slice[0].slice is outer
    return is_alone and isinstance(outer, cst.Index) and outer.star is None


def _is_order(name: cst.Name, editor: Editor) -> bool:
    """Whether ``name`` is bound once, to what ``torch.sort`` and the like give."""
    function = editor.function_of(name)
    bound = editor.assignments(function, name.value) if function is not None else []
    if len(bound) != 1 or not isinstance(bound[0], cst.Assign) or len(bound[0].targets) != 1:
        return False
    target, value = bound[0].targets[0].target, bound[0].value
    names, position = _SECOND, 1
    if isinstance(target, cst.Name):
        names, position = _ONLY, 0
        if isinstance(value, (cst.Attribute, cst.Subscript)) and editor.code(value).endswith((").indices", ")[1]")):
            names, value = _SECOND, value.value
    elif not isinstance(target, cst.Tuple) or len(target.elements) != 2:
        return False
    is_bound = not isinstance(target, cst.Tuple) or target.elements[position].value.deep_equals(name)
    return is_bound and isinstance(value, cst.Call) and called(value) in names
