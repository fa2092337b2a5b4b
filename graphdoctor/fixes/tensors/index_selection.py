"""``x[idx]`` where ``idx`` are the indices of a mask: the same as ``x[mask]``, over a fixed shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.tensors.masks import same_selection, written_back
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.value_functions import tensor_of

#: Reductions of what is selected, and what the places that are left out hold.
_NEUTRAL = {"sum": "0", "amax": "-torch.inf", "amin": "torch.inf", "mean": "0"}
_ALL = ("()",)
_ROWS = ("(0)", "(dim=0)")


@dataclass(frozen=True)
class Selection:
    """``node`` is ``x[idx]`` or ``x[rows, columns]``; ``indices`` are the names in it."""

    node: cst.Subscript
    indices: Sequence[cst.BaseExpression]


def selects(read: cst.BaseExpression, width: int, editor: Editor) -> Selection | None:
    """The subscript that ``read`` is an index of, together with the other names of its mask."""
    element = next((o for o in editor.ancestors(read) if isinstance(o, cst.SubscriptElement)), None)
    node = editor.parent(element) if element is not None else None
    if not isinstance(node, cst.Subscript) or len(node.slice) != width:
        return None
    found = [e.slice.value for e in node.slice if isinstance(e.slice, cst.Index) and e.slice.star is None]
    return Selection(node, found) if len(found) == width and read in found else None


def written_selection(
    statement: cst.CSTNode, selection: Selection, mask: str, rank: int | None, editor: Editor
) -> Edit | None:
    """``y[idx] = f(x[idx])`` as a choice by the mask; None where ``statement`` writes to no such place."""
    target: cst.CSTNode | None = statement.target if isinstance(statement, cst.AugAssign) else None
    if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
        target = statement.targets[0].target
    if not isinstance(statement, (cst.Assign, cst.AugAssign)) or not isinstance(target, cst.Subscript):
        return None
    if not same_selection(target.slice, selection.node.slice):
        return None
    if isinstance(statement, cst.Assign) and _is_number(statement.value):
        return editor.replace(statement, f"{editor.code(target.value)}[{mask}] = {editor.code(statement.value)}")
    return editor.replace(statement, written_back(statement, target, _spread(mask, rank, target.value, editor), editor))


def reduced_selection(selection: Selection, mask: str, rank: int | None, editor: Editor) -> Edit:
    """``x[idx].mean(0)`` over the full shape. Refuses what is no such reduction."""
    attribute = editor.parent(selection.node)
    call = editor.parent(attribute) if isinstance(attribute, cst.Attribute) else None
    if not isinstance(call, cst.Call) or call.func is not attribute or called(call) not in _NEUTRAL:
        raise Refuse("what the indices select is used as it is, and its size depends on the data")
    name, tensor = called(call), editor.code(selection.node.value)
    rest = editor.code(call).removeprefix(f"{editor.code(selection.node)}.{name}")
    if rest not in (*_ALL, *_ROWS) or rank is None:
        raise Refuse(f"`{editor.code(call)}` has no form with the full shape")
    condition = _spread(mask, rank, selection.node.value, editor)
    over = f"{tuple(range(rank))}" if rank > 1 else "0"
    kind = "sum" if name == "mean" else name
    text = f"torch.where({condition}, {tensor}, {_NEUTRAL[name]}).{kind}({'' if rest in _ALL else over})"
    if name == "mean":
        count = f"{condition}.expand_as({tensor}).sum()" if rest in _ALL else f"{mask}.sum()"
        text = f"({text} / {count})"
    return editor.replace(call, text)


def _spread(mask: str, rank: int | None, tensor: cst.BaseExpression, editor: Editor) -> str:
    """The mask with as many dimensions as ``tensor``: it indexes the leading ones, ``where`` lines up the last."""
    known = tensor_of(editor.value(tensor))
    if known is not None and known.ndim is not None and rank is not None:
        return f"{mask}[...{', None' * (known.ndim - rank)}]" if known.ndim > rank else mask
    if not isinstance(tensor, (cst.Name, cst.Attribute)):
        raise Refuse(f"`{editor.code(tensor)}` has no name, and its dimensions are not known")
    return f"{mask}[(...,) + (None,) * ({editor.code(tensor)}.ndim - {mask}.ndim)]"


def _is_number(node: cst.BaseExpression) -> bool:
    inner = node.expression if isinstance(node, cst.UnaryOperation) else node
    is_bool = isinstance(inner, cst.Name) and inner.value in ("True", "False")
    return is_bool or isinstance(inner, (cst.Integer, cst.Float))
