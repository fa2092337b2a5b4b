"""Sums and means of the rows that a mask selects, ``x[m].mean(0)``, as those of all rows with the others zero."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.purity import called, calls, is_pure, is_torch_function
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal

_REASON = "The sum runs over all rows, with those that the mask leaves out as zeros."


def reduce_rows(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``x[m].sum(0)`` and ``torch.mean(x[m], dim=0)``. Raises Refuse where it does not fit."""
    selection = hit.place
    call, kept = _reduction(selection, editor)
    if not isinstance(selection, cst.Subscript) or call is None:
        return Refusal("What the mask selects is not summed over its rows.")
    index = selection.slice[0].slice
    if len(selection.slice) != 1 or not isinstance(index, cst.Index) or index.star is not None:
        raise Refuse("the mask is one of several indices")
    tensor, mask, statement = editor.code(selection.value), index.value, editor.statement_of(call)
    if not isinstance(selection.value, (cst.Name, cst.Attribute)):
        raise Refuse(f"`{tensor}` has no name, and would be computed more than once")
    edits = [*editor.torch_import(call)]
    name = editor.code(mask)
    if not isinstance(mask, (cst.Name, cst.Attribute)):
        check_before(mask, statement, editor)
        name, indent = editor.fresh("mask"), editor.indent_of(statement)
        line = editor.statement(indent, f"{name} = ", editor.code(mask))
        edits.append(editor.insert_before(statement, line + editor.newline + indent))
    known, whole = tensor_of(editor.value(mask)), tensor_of(editor.value(selection.value))
    rank, ranks = (known.ndim if known is not None else None), (whole.ndim if whole is not None else None)
    spread = f"{name}[(...,) + (None,) * ({tensor}.ndim - {name}.ndim)]"
    if rank is not None and ranks is not None:
        spread = f"{name}[...{', None' * (ranks - rank)}]" if ranks > rank else name
    flat = "" if rank == 1 else f".flatten(0, {name}.ndim - 1)"
    text = f"torch.where({spread}, {tensor}, 0){flat}.sum(0{kept})"
    if called(call) == "mean":
        text = f"({text} / {name}.sum())"
    return FixPlan((*edits, editor.replace(call, text)), "unsafe", _REASON)


def _reduction(selection: cst.CSTNode, editor: Editor) -> tuple[cst.Call | None, str]:
    """The call of ``selection.mean(0)`` or ``torch.mean(selection, 0)``, and the argument that keeps the dimension."""
    user = editor.parent(selection)
    call = editor.parent(user) if isinstance(user, (cst.Attribute, cst.Arg)) else None
    if not isinstance(call, cst.Call) or called(call) not in ("mean", "sum"):
        return None, ""
    rest = list(call.args)
    if isinstance(user, cst.Arg):
        if call.args[0] is not user or user.keyword is not None or not is_torch_function(call, editor):
            return None, ""
        rest = rest[1:]
    elif call.func is not user:
        return None, ""
    given = [(a.keyword.value if a.keyword is not None else "dim", editor.code(a.value)) for a in rest]
    kept = ", keepdim=True" if ("keepdim", "True") in given else ""
    given = [option for option in given if option[0] != "keepdim" or option[1] not in ("True", "False")]
    return (call, kept) if given in ([("dim", "0")], [("axis", "0")]) else (None, "")


def check_before(mask: cst.BaseExpression, statement: cst.CSTNode, editor: Editor) -> None:
    """Refuses a mask that cannot be computed in a line before ``statement``."""
    around = list(editor.ancestors(mask))
    inside = around[: around.index(statement)] if statement in around else around
    may_skip = (cst.BaseComp, cst.Lambda, cst.IfExp, cst.BooleanOperation)
    is_simple = isinstance(editor.parent(statement), cst.SimpleStatementLine)
    always = is_simple and not any(isinstance(o, may_skip) for o in inside)
    if not always or not all(is_pure(call, editor) for call in calls(mask)):
        raise Refuse(f"`{editor.code(mask)}` has no name, and may not be computed where its line begins")
