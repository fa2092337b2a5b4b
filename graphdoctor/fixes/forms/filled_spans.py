"""``mask[i, :n] = 0``, where ``n`` is a tensor or read from one, becomes ``mask[i].masked_fill_(... < n, 0)``.

The shapes no longer depend on the number: each position is compared with it. A negative bound counts from the end, as
in a slice.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.conditions import receiver
from graphdoctor.fixes.analysis.types import is_number
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find

_REASON = "Each position is compared with the bound; what is written is the same."


def fill_span(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """Raises Refuse where it does not fit."""
    bounds = editor.parent(hit.place)
    element = editor.parent(bounds) if isinstance(bounds, cst.Slice) else None
    written = editor.parent(element) if element is not None else None
    target = editor.parent(written) if isinstance(written, cst.Subscript) else None
    assign = editor.parent(target) if isinstance(target, cst.AssignTarget) else None
    if not isinstance(assign, cst.Assign) or not isinstance(written, cst.Subscript):
        return Refusal("The slice is not written to.")
    assert isinstance(bounds, cst.Slice) and isinstance(element, cst.SubscriptElement)
    if len(assign.targets) != 1 or bounds.step is not None or None not in (bounds.lower, bounds.upper):
        raise Refuse("the slice has more than one bound, or is assigned with others")
    place, number = written.slice.index(element), bounds.lower if bounds.lower is not None else bounds.upper
    assert number is not None
    _check_index(written, place, editor)
    _check_value(assign.value, written.value, editor)
    size = f"{receiver(editor.code(written.value))}.shape[{place}]"
    bound, end = _bound(number, editor), "<" if bounds.upper is not None else ">="
    # Negative bounds count from the end.
    limit = f"{bound} + {size} * ({bound} < 0)"
    positions = f"torch.arange({size}, device={editor.code(written.value)}.device)"
    text = f"{_view(written, place, editor)}.masked_fill_({positions} {end} {limit}, {editor.code(assign.value)})"
    return FixPlan((*editor.torch_import(assign), editor.replace(assign, text)), "unsafe", _REASON)


def _bound(number: cst.BaseExpression, editor: Editor) -> str:
    """The whole number that ``n``, ``n.item()`` or ``int(n)`` is, as a tensor. Raises Refuse where it is not known."""
    tensor, cuts = number, False
    if isinstance(number, cst.Call):
        if isinstance(number.func, cst.Attribute) and number.func.attr.value == "item" and not number.args:
            tensor = number.func.value
        elif isinstance(number.func, cst.Name) and number.func.value == "int" and len(number.args) == 1:
            tensor = number.args[0].value
            known = tensor_of(editor.value(tensor))
            # `int` cuts off what a float has behind the point, and so does `long`.
            cuts = known is None or known.dtype != "int"
    if any(find(tensor, cst.Call)):
        raise Refuse(f"`{editor.code(number)}` calls a function, which would be called twice")
    return f"{receiver(editor.code(tensor))}.long()" if cuts else editor.operand(tensor)


def _check_index(written: cst.Subscript, place: int, editor: Editor) -> None:
    """Refuse where the slice is not in the last dimension of a view that ``written`` with a full slice would give."""
    known = tensor_of(editor.value(written.value))
    if known is None or known.ndim != len(written.slice) or not isinstance(written.value, (cst.Name, cst.Attribute)):
        raise Refuse(f"how many dimensions `{editor.code(written.value)}` has is not known")
    for number, other in enumerate(written.slice):
        if number == place:
            continue
        if isinstance(other.slice, cst.Slice):
            if number > place or other.slice.lower is not None or other.slice.upper is not None:
                raise Refuse("another slice stands in the index")
        elif not isinstance(other.slice, cst.Index) or not is_number(other.slice.value, editor):
            raise Refuse(f"`{editor.module.code(other.slice)}` is not shown to be a Python number")


def _check_value(value: cst.BaseExpression, written: cst.BaseExpression, editor: Editor) -> None:
    """Refuse a value that is no number, or one that a tensor of integers would round."""
    if not is_number(value, editor):
        raise Refuse("what is written is not shown to be a number")
    known = tensor_of(editor.value(written))
    is_whole = isinstance(value, cst.Integer) or editor.code(value) in ("True", "False")
    if not is_whole and (known is None or known.dtype not in ("float", None)):
        raise Refuse(f"`{editor.code(written)}` is not shown to hold floats")


def _view(written: cst.Subscript, place: int, editor: Editor) -> str:
    """``mask[i]`` for ``mask[i, :n]``."""
    texts = [":" if n == place else editor.module.code(part.slice).strip() for n, part in enumerate(written.slice)]
    while texts and texts[-1] == ":":
        texts.pop()
    base = editor.code(written.value)
    return f"{base}[{', '.join(texts)}]" if texts else receiver(base)
