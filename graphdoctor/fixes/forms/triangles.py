"""What a diagonal or a triangle selects, by slices and indices: their sizes are known, those of a mask are not."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.purity import called, is_torch_function
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.proof.triangles import Triangle, triangle
from graphdoctor.static.domain.events import Subscript
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal

_REASON = "The mask is made of sizes alone: the same elements are taken in the same order."
_BROADCAST = " The tensor must be as large as the mask."


def select_by_position(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``x[~torch.eye(n, dtype=torch.bool)]``, ``x[..., triangle]`` and ``x.masked_select(mask)``.

    Raises Refuse where it does not fit.
    """
    operands = _operands(hit, editor)
    made = triangle(operands[2], editor) if operands is not None else None
    if operands is None or made is None or made.kind in ("ones", "zeros"):
        return Refusal("The mask is no diagonal or triangle.")
    tensor, before, _ = operands
    text, known = editor.operand(tensor), tensor_of(editor.value(tensor))
    if known is None or known.numpy:
        raise Refuse(f"`{editor.code(tensor)}` is not shown to be a tensor")
    if made.kind == "others" and not made.is_square:
        raise Refuse(f"`{editor.code(operands[2])}` is not shown to be a square")
    if made.kind != "diagonal" and not isinstance(tensor, (cst.Name, cst.Attribute)):
        raise Refuse(f"`{editor.code(tensor)}` would be computed twice; give it a name")
    text = _selected(text, before, made, known.ndim == 2)
    if made.kind == "others" and known.ndim == 2 and _is_reshaped(hit.place, editor):
        text = text.removesuffix(".flatten()")
    edit = editor.replace(hit.place, text)
    if isinstance(hit.place, cst.Call):
        return FixPlan((*editor.torch_import(hit.place), edit), "unsafe", _REASON + _BROADCAST)
    return FixPlan((*editor.torch_import(hit.place), edit), "safe", _REASON)


def _is_reshaped(place: cst.CSTNode, editor: Editor) -> bool:
    """Whether ``place`` gets other sizes right away: ``x[mask].view(n, n - 1)``. Another ``view`` gives a dtype."""
    method = editor.parent(place)
    call = editor.parent(method) if isinstance(method, cst.Attribute) and method.value is place else None
    if not isinstance(call, cst.Call) or call.func is not method or called(call) not in ("reshape", "view"):
        return False
    sizes = [arg.value for arg in call.args if arg.keyword is None]
    return len(sizes) > 1 or (len(sizes) == 1 and isinstance(sizes[0], (cst.Tuple, cst.List, cst.Integer)))


def _selected(tensor: str, before: str, made: Triangle, is_matrix: bool) -> str:
    """The code for what ``tensor[before, mask]`` selects; ``before`` is ``...`` or the slices of leading dimensions."""
    first, second = (-2, -1) if before == "..." else (before.count(":"), before.count(":") + 1)
    lead = f"{before}, " if before else ""
    if made.kind == "diagonal":
        dims = "" if (first, second) == (0, 1) else f"dim1={first}, dim2={second}"
        moved = "" if is_matrix or first == -2 else f".movedim(-1, {first})"
        return f"{tensor}.diagonal({dims}){moved}.clone()"
    if made.kind == "others":
        size = f"len({tensor})" if first == 0 else f"{tensor}.shape[{second}]"
        flat = "flatten()" if is_matrix else f"flatten({first}, {second})"
        # Without the first element, each diagonal element is the last one in a row of one more. Of two rows the rest
        # would be a view; a mask gives a copy.
        rows = f"unflatten({'-1' if first == -2 else first}, ({size} - 1, {size} + 1))"
        shorter = f"[{lead}:, :-1]" if first != -2 else "[..., :-1]"
        return f"{tensor}.{flat}[{lead}1:].{rows}{shorter}.clone().{flat}"
    sizes = ", ".join(f"{tensor}.shape[{dim}]" for dim in (first, second))
    function = "torch.triu_indices" if made.kind == "upper" else "torch.tril_indices"
    indices = f"{function}({sizes}, {made.offset}, device={tensor}.device).unbind()"
    slices = before.replace(":", "slice(None)")
    return f"{tensor}[({slices}, *{indices})]" if before else f"{tensor}[{indices}]"


def _operands(hit: Hit, editor: Editor) -> tuple[cst.BaseExpression, str, cst.BaseExpression] | None:
    """The tensor, the indices before the mask and the mask, where nothing else is selected."""
    place = hit.place
    if isinstance(place, cst.Call) and called(place) == "masked_select" and isinstance(place.func, cst.Attribute):
        given = [a.value for a in place.args if a.keyword is None and not a.star]
        given = given if is_torch_function(place, editor) else [place.func.value, *given]
        known = tensor_of(editor.value(given[0])) if len(given) == 2 else None
        # A mask is broadcast here.
        return (given[0], "", given[1]) if known is not None and known.ndim == 2 else None
    if not isinstance(place, cst.Subscript) or (isinstance(hit.event, Subscript) and hit.event.mode != "load"):
        return None
    *before, last = [element.slice for element in place.slice]
    lead = ", ".join(editor.code(b) for b in before)
    if not isinstance(last, cst.Index) or last.star is not None or lead not in ("", "...", ":", ":, :"):
        return None
    return place.value, lead, last.value
