"""A number that other code needs as one, and that decides a branch, too: the tensor that it was read from decides.

``n = t.item()``, ``if n > 3: y = f(y)`` and ``return y, n``. The number stays one for the caller; the branch becomes a
choice by ``t > 3``, and the number is no more than recorded.
"""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.analysis.types import Kind, ReadNames, is_tensor_like
from graphdoctor.fixes.branches.branch import branch_of
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import names, parameters
from graphdoctor.fixes.loops.by_number import choice
from graphdoctor.fixes.proof.aliasing import is_changed_in
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find, walk

NO_NUMBER = Refusal("No number of a tensor decides the branch.")
_REASON = (
    "`{name}` stays a number for what else reads it, and its tensor decides: where the two promote dtypes differently, "
    "a number next to the bound may decide otherwise."
)


def decide_by_tensor(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``if n > 3: y = f(y)`` as a choice by the tensor of which ``n`` is the number.

    Raises Refuse where it does not fit.
    """
    branch = branch_of(hit.place, editor)
    if not isinstance(branch, (cst.If, cst.IfExp)) or editor.code(branch).startswith("elif"):
        return NO_NUMBER
    read = [node for node in walk(branch.test) if isinstance(node, cst.Name) and not editor.is_label(node)]
    found = {name: assign for name in {n.value for n in read} if (assign := _read_from(name, branch, editor))}
    if not found:
        return NO_NUMBER
    edits: list[Edit] = []
    written: dict[cst.CSTNode, str] = {}
    kinds: dict[str, Kind] = {}
    for name, assign in sorted(found.items()):
        tensor, more = _named(name, assign, editor)
        edits += more
        kinds[name] = "tensor"
        written |= {use: tensor for use in read if use.value == name}
    sides = (branch.body, branch.orelse)
    inside = [node for side in sides if side is not None for node in find(side, cst.Name) if node.value in found]
    if not all(_is_returned(node, editor) for node in inside):
        raise Refuse("a side of the branch reads the number, which would be computed with in each call")
    plan = choice(branch, replace(hit, data=ReadNames(kinds, written)), editor)
    if isinstance(plan, Refusal):
        return plan
    reason = " ".join([plan.reason, *(_REASON.format(name=name) for name in sorted(found))])
    return replace(plan, edits=(*edits, *plan.edits), safety="unsafe", reason=reason)


def _is_returned(node: cst.Name, editor: Editor) -> bool:
    """``n`` of ``return n`` and ``return y, n``."""
    outer = editor.parent(node)
    several = editor.parent(outer) if isinstance(outer, cst.Element) else None
    return isinstance(editor.parent(several) if isinstance(several, cst.Tuple) else outer, cst.Return)


def _read_from(name: str, branch: cst.CSTNode, editor: Editor) -> cst.Assign | None:
    """``n = t.item()``, the only assignment of ``name`` in the function."""
    function = editor.function_of(branch)
    if function is None or name in parameters(function):
        return None
    bound = editor.assignments(function, name)
    assign = bound[0] if len(bound) == 1 else None
    call = assign.value if isinstance(assign, cst.Assign) else None
    return assign if isinstance(assign, cst.Assign) and isinstance(call, cst.Call) and _tensor(call, editor) else None


def _tensor(call: cst.Call, editor: Editor) -> cst.BaseExpression | None:
    """The 0-d tensor in ``t.item()`` and ``float(t)``."""
    value: cst.BaseExpression | None = None
    if isinstance(call.func, cst.Attribute) and called(call) == "item" and not call.args:
        value = call.func.value
    elif isinstance(call.func, cst.Name) and called(call) == "float" and len(call.args) == 1:
        value = call.args[0].value
    if value is None or not is_tensor_like(value, editor):
        return None
    known = tensor_of(editor.value(value))
    return value if known is not None and known.ndim == 0 and not known.numpy else None


def _named(name: str, assign: cst.Assign, editor: Editor) -> tuple[str, list[Edit]]:
    """A name that holds the tensor, and the edits that give it one."""
    call = assign.value
    tensor = _tensor(call, editor) if isinstance(call, cst.Call) else None
    function = editor.function_of(assign)
    assert tensor is not None and function is not None
    code = editor.operand(tensor)
    # What may be written to before the branch decides is copied.
    kept = f"{code}.clone()" if any(is_changed_in(function, n, editor) for n in names(tensor)) else code
    is_bound_once = isinstance(tensor, cst.Name) and len(editor.assignments(function, tensor.value)) == 1
    if isinstance(tensor, cst.Name) and is_bound_once and kept == code:
        return tensor.value, []
    fresh = editor.fresh(f"{name}_tensor")
    indent = editor.indent_of(assign)
    line = editor.statement(indent, f"{fresh} = ", kept)
    return fresh, [
        editor.insert_before(assign, line + editor.newline + indent),
        editor.replace(tensor, fresh),
    ]
