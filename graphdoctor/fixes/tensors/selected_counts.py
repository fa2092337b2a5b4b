"""How much a mask selects, without what it selects: ``x[m].numel()``, ``len(x[m])``."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.conditions import tight
from graphdoctor.fixes.analysis.purity import calls, is_pure
from graphdoctor.fixes.analysis.uses import uses
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.proof.aliasing import is_written
from graphdoctor.fixes.tensors.asked_counts import count_of
from graphdoctor.fixes.tensors.number_flow import Flow
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal

_REASON = "What the mask selects is only counted, and is no longer made; that the mask fits is no longer checked."


def count_selected(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``x[m].numel()`` becomes a count of what is true in the mask. Raises Refuse where it does not fit."""
    place = hit.place
    index = place.slice[0].slice if isinstance(place, cst.Subscript) and len(place.slice) == 1 else None
    if not isinstance(place, cst.Subscript) or not isinstance(index, cst.Index) or index.star is not None:
        return Refusal("This selects by no mask alone.")
    mask, tensor = tensor_of(editor.value(index.value)), tensor_of(editor.value(place.value))
    if mask is None or mask.dtype != "bool" or mask.numpy or tensor is None:
        return Refusal("This selects by no mask alone.")
    assign = editor.parent(place)
    reads = uses(assign, editor) if isinstance(assign, cst.Assign) else (place,)
    counts = [(read, count_of(read, True, editor)) for read in reads]
    if not counts or any(node is None for _, node in counts):
        raise Refuse("what the mask selects is used, and not only how much it is")
    for call in (*calls(index.value), *calls(place.value)):
        if not is_pure(call, editor):
            raise Refuse(f"`{editor.code(call)}` may have side effects")
    if isinstance(assign, cst.Assign):
        _check_kept(place.value, editor)
        _check_kept(index.value, editor)
    rows = f"torch.count_nonzero({editor.code(index.value)})"
    is_flat = mask.ndim is not None and mask.ndim == tensor.ndim
    every = rows if is_flat else f"({rows} * {_size_of_row(place.value, index.value, editor)})"
    flow = Flow(hit, editor)
    for _, node in counts:
        assert node is not None
        flow.number_of(node, every if editor.code(node).endswith(".numel()") else rows)
    gone = (editor.delete(assign),) if isinstance(assign, cst.Assign) else ()
    return FixPlan((*editor.torch_import(place), *gone, *flow.edits), "unsafe", _REASON)


def _check_kept(node: cst.BaseExpression, editor: Editor) -> None:
    """Refuse a ``node`` that may be something else where the count is read."""
    function = editor.function_of(node)
    bound = editor.assignments(function, node.value) if isinstance(node, cst.Name) and function is not None else []
    if not isinstance(node, cst.Name) or len(bound) > 1 or is_written(node.value, node, editor):
        raise Refuse(f"`{editor.code(node)}` may change before the count is read")


def _size_of_row(tensor: cst.BaseExpression, mask: cst.BaseExpression, editor: Editor) -> str:
    """How many numbers of ``tensor`` belong to one element of the mask."""
    return f"{editor.operand(tensor)}.shape[{tight(editor.code(mask))}.ndim :].numel()"
