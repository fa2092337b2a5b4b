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


@dataclass(frozen=True)
class Pair:
    """``y[idx, z[idx]] = number``: one place for each index."""

    statement: cst.Assign
    target: cst.Subscript
    #: For each of the two indices None, or the tensor that is read at the index.
    read: Sequence[cst.BaseExpression | None]
    indices: Sequence[cst.BaseExpression]


def paired(read: cst.BaseExpression, editor: Editor) -> Pair | None:
    """The statement that writes a number to a matrix by ``read`` and by what a name holds there."""
    statement = editor.statement_of(read)
    target = statement.targets[0].target if isinstance(statement, cst.Assign) and len(statement.targets) == 1 else None
    if not isinstance(statement, cst.Assign) or not isinstance(target, cst.Subscript) or len(target.slice) != 2:
        return None
    owner, code = target.value, editor.code(read)
    known = tensor_of(editor.value(owner))
    if not isinstance(owner, (cst.Name, cst.Attribute)) or known is None or known.ndim != 2 or known.numpy:
        return None
    tensors: list[cst.BaseExpression | None] = []
    indices: list[cst.BaseExpression] = []
    for value in (e.slice.value for e in target.slice if isinstance(e.slice, cst.Index) and e.slice.star is None):
        if editor.code(value) == code:
            tensors.append(None)
            indices.append(value)
        elif isinstance(value, cst.Subscript) and isinstance(value.value, cst.Name) and len(value.slice) == 1:
            inner = value.slice[0].slice
            if isinstance(inner, cst.Index) and editor.code(inner.value) == code:
                tensors.append(value.value)
                indices.append(inner.value)
    is_number = isinstance(statement.value, cst.Integer) and known.dtype in ("int", "float")
    if len(tensors) != 2 or sum(each is None for each in tensors) != 1 or read not in indices or not is_number:
        return None
    return Pair(statement, target, tensors, indices)


def written_pair(pair: Pair, mask: str, editor: Editor) -> Edit:
    """``y[idx, z[idx]] = 1`` at the place of each row: where the mask is false, at 0, what is there."""
    rows, places = editor.fresh("rows"), editor.fresh("places")
    indent = editor.indent_of(pair.statement)
    (read,) = (tensor for tensor in pair.read if tensor is not None)
    place = ", ".join(rows if tensor is None else places for tensor in pair.read)
    place = f"{editor.code(pair.target.value)}[{place}]"
    lines = (
        f"{rows} = torch.arange(len({mask}), device={mask}.device)",
        f"{places} = torch.where({mask}, {editor.code(read)}, 0)",
        f"{place} = torch.where({mask}, {editor.code(pair.statement.value)}, {place})",
    )
    return editor.replace(pair.statement, (editor.newline + indent).join(lines))


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
