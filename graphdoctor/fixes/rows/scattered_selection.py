"""What a mask selects from one tensor and writes to another: ``x.masked_scatter_(m, y.masked_select(m))``.

Between the two the mask may get another shape, as long as its elements keep their order.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from graphdoctor.fixes.analysis.conditions import receiver
from graphdoctor.fixes.analysis.held_before import bound_in_block
from graphdoctor.fixes.analysis.purity import called, is_torch_function, words
from graphdoctor.fixes.analysis.uses import uses
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.proof.aliasing import is_changed_in
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find

_REASON = "All elements are computed and kept where the mask is true, for it selects and writes the same places."
_SCATTERS = words("masked_scatter masked_scatter_")
#: Methods that keep the elements and their order.
_SAME_ORDER = words("contiguous flatten reshape squeeze unsqueeze view")


def scatter_selected(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``s = y.masked_select(m)`` and ``x.masked_scatter_(m, s)``. Raises Refuse where it does not fit."""
    selection = hit.place
    if not isinstance(selection, cst.Call) or called(selection) != "masked_select" or _is_function(selection, editor):
        return Refusal("No method selects by a mask.")
    assign, edits = editor.parent(selection), list[Edit]()
    argument: cst.CSTNode | None = assign
    if isinstance(assign, cst.Assign):
        reads = uses(assign, editor)
        argument = editor.parent(reads[0]) if len(reads) == 1 else None
        edits.append(editor.delete(assign))
    call = editor.parent(argument) if isinstance(argument, cst.Arg) else None
    if not isinstance(call, cst.Call) or called(call) not in _SCATTERS or _is_function(call, editor):
        return Refusal("What the mask selects is not put into another tensor by a mask.")
    given = [a.value for a in (*selection.args, *call.args) if a.keyword is None and not a.star]
    if len(given) != 3 or argument is not call.args[1]:
        return Refusal("What the mask selects is not put into another tensor by a mask.")
    mask, placed = given[:2]
    known = tensor_of(editor.value(placed))
    if known is None or known.dtype != "bool" or known.numpy:
        raise Refuse(f"`{editor.code(placed)}` is not shown to be a mask")
    assert isinstance(selection.func, cst.Attribute) and isinstance(call.func, cst.Attribute)
    steps = _steps(mask, placed, selection, call, editor)
    _check_kept(selection.func.value, selection, call, editor)
    value, target = editor.operand(selection.func.value) + "".join(steps), editor.code(call.func.value)
    chosen = f"torch.where({editor.code(placed)}, {value}, {target})"
    text = f"{receiver(target)}.copy_({chosen})" if called(call).endswith("_") else chosen
    return FixPlan((*editor.torch_import(call), *edits, editor.replace(call, text)), "unsafe", _REASON)


def _is_function(call: cst.Call, editor: Editor) -> bool:
    return is_torch_function(call, editor) or not isinstance(call.func, cst.Attribute)


def _steps(
    mask: cst.BaseExpression, placed: cst.BaseExpression, selection: cst.Call, call: cst.Call, editor: Editor
) -> Sequence[str]:
    """How ``placed`` is made of ``mask``: methods that keep the order of its elements."""
    now = placed
    if isinstance(placed, cst.Name):
        before, after = (bound_in_block(placed.value, editor.statement_of(n), editor) for n in (selection, call))
        now = after.value if after is not None and after is not before else placed
    steps: list[str] = []
    while isinstance(now, cst.Call) and isinstance(now.func, cst.Attribute) and called(now) in _SAME_ORDER:
        if now.deep_equals(mask):
            break
        steps.insert(0, f".{called(now)}({', '.join(editor.code(a) for a in now.args)})")
        now = now.func.value
    if not now.deep_equals(mask):
        raise Refuse(f"`{editor.code(placed)}` is not shown to be the mask `{editor.code(mask)}`")
    return steps


def _check_kept(value: cst.BaseExpression, selection: cst.Call, call: cst.Call, editor: Editor) -> None:
    """Refuse a ``value`` that may be another where it is scattered than where it was selected from."""
    start, end, function = editor.statement_of(selection), editor.statement_of(call), editor.function_of(call)
    names = {n.value for n in find(value, cst.Name) if not editor.is_label(n)}
    bound = {name: [bound_in_block(name, line, editor) for line in (start, end)] for name in names}
    is_other = any(before is not after for before, after in bound.values())
    if (
        isinstance(value, cst.Call)
        or is_other
        or any(function is None or is_changed_in(function, name, editor) for name in names)
    ):
        raise Refuse(f"`{editor.code(value)}` may change before it is scattered")
