"""``mask[i, :n] = 0``, where ``n`` is a tensor or read from one, becomes ``mask[i].masked_fill_(... < n, 0)``.

The shapes no longer depend on the number: each position is compared with it. A negative bound counts from the end, as
in a slice. ``out[i, :n] = x[i, :n]`` chooses between ``x[i]`` and ``out[i]`` at each position.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.conditions import receiver
from graphdoctor.fixes.analysis.types import is_number
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find

_REASON = "Each position is compared with the bound; what is written is the same."


def fill_span(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """Raises Refuse where it does not fit."""
    assign = written_at(hit.place, editor)
    if assign is None:
        return Refusal("The slice is not written to.")
    return FixPlan((*editor.torch_import(assign), filled(assign, editor)), "unsafe", _REASON)


def written_at(bound: cst.CSTNode, editor: Editor) -> cst.Assign | None:
    """The assignment to a span that ``bound`` bounds, or of such a span to another."""
    bounds = editor.parent(bound)
    element = editor.parent(bounds) if isinstance(bounds, cst.Slice) else None
    span = editor.parent(element) if element is not None else None
    user = editor.parent(span) if isinstance(span, cst.Subscript) else None
    assign = editor.parent(user) if isinstance(user, cst.AssignTarget) else user
    if not isinstance(assign, cst.Assign) or not isinstance(assign.targets[0].target, cst.Subscript):
        return None
    return assign


def filled(assign: cst.Assign, editor: Editor) -> Edit:
    """The edit that writes the span by comparing positions. Raises Refuse where it does not fit."""
    written = assign.targets[0].target
    assert isinstance(written, cst.Subscript)
    spans = [
        n for n, e in enumerate(written.slice) if isinstance(e.slice, cst.Slice) and (e.slice.lower or e.slice.upper)
    ]
    bounds = written.slice[spans[0]].slice if spans else None
    if not isinstance(bounds, cst.Slice):
        raise Refuse("the slice is not written to")
    if len(assign.targets) != 1 or bounds.step is not None or None not in (bounds.lower, bounds.upper):
        raise Refuse("the slice has more than one bound, or is assigned with others")
    place, number = spans[0], bounds.lower if bounds.lower is not None else bounds.upper
    assert number is not None
    behind = _check_index(written, place, editor)
    size = f"{receiver(editor.code(written.value))}.shape[{place}]"
    bound, end = _bound(number, editor), "<" if bounds.upper is not None else ">="
    # Negative bounds count from the end.
    limit = f"{bound} + {size} * ({bound} < 0)"
    chosen = f"torch.arange({size}, device={editor.code(written.value)}.device) {end} {limit}"
    if behind:
        chosen = f"({chosen})[:{', None' * behind}]"
    view = _view(written, place, editor)
    if isinstance(assign.value, cst.Subscript) and _is_same_span(assign.value, written, place, editor):
        other = _view(assign.value, place, editor)
        return editor.replace(assign, f"{view}.copy_(torch.where({chosen}, {other}, {view}))")
    _check_value(assign.value, written.value, editor)
    return editor.replace(assign, f"{view}.masked_fill_({chosen}, {editor.code(assign.value)})")


def _is_same_span(value: cst.Subscript, written: cst.Subscript, place: int, editor: Editor) -> bool:
    """Whether ``value`` is the same span of another tensor: ``x[i, :n]`` for ``out[j, :n]``."""
    if len(value.slice) != len(written.slice) or not isinstance(value.value, (cst.Name, cst.Attribute)):
        return False
    if editor.code(value.value) == editor.code(written.value):
        return False
    for number, (one, other) in enumerate(zip(value.slice, written.slice, strict=True)):
        is_slice = isinstance(other.slice, cst.Slice)
        if number == place or is_slice:
            if editor.module.code(one.slice) != editor.module.code(other.slice):
                return False
        elif not isinstance(one.slice, cst.Index) or not is_number(one.slice.value, editor):
            return False
    return True


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


def _check_index(written: cst.Subscript, place: int, editor: Editor) -> int:
    """How many dimensions stand behind those that are indexed.

    Refuse where the slice is not in the last one of these that a view has which ``written`` with a full slice gives.
    """
    known = tensor_of(editor.value(written.value))
    ndim = known.ndim if known is not None and isinstance(written.value, (cst.Name, cst.Attribute)) else None
    if ndim is None or ndim < len(written.slice):
        raise Refuse(f"how many dimensions `{editor.code(written.value)}` has is not known")
    for number, other in enumerate(written.slice):
        if number == place:
            continue
        if isinstance(other.slice, cst.Slice):
            if number > place or other.slice.lower is not None or other.slice.upper is not None:
                raise Refuse("another slice stands in the index")
        elif not isinstance(other.slice, cst.Index) or not is_number(other.slice.value, editor):
            raise Refuse(f"`{editor.module.code(other.slice)}` is not shown to be a Python number")
    return ndim - len(written.slice)


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
