"""How many different values a tensor has, without the values: neighbours that differ are counted."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.analysis.purity import called, is_pure
from graphdoctor.fixes.analysis.uses import uses
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.tensors.asked_counts import count_of
from graphdoctor.fixes.tensors.number_flow import Flow
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

_REASON = "The values are only counted, and are no longer made: it is counted which neighbours differ."


def count_distinct(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``len(torch.unique(x)) > 1`` with a sum over the sorted ``x``. Raises Refuse where it does not fit."""
    call = hit.place
    if not isinstance(call, cst.Call) or called(call) not in ("unique", "unique_consecutive"):
        return Refusal("No different values are asked for.")
    values = _values(call, editor)
    assign = editor.parent(call)
    reads = uses(assign, editor) if isinstance(assign, cst.Assign) else (call,)
    counts = [count_of(read, True, editor) for read in reads]
    if not counts or None in counts:
        raise Refuse("the values are used, and not only how many there are")
    code = editor.operand(values)
    for node in walk(values):
        impure = isinstance(node, cst.Call) and not is_pure(node, editor)
        if impure or isinstance(node, (cst.NamedExpr, cst.Await, cst.Yield)):
            raise Refuse(f"`{code}` would be computed more than once")
    flat = f"{code}.flatten()" if called(call) == "unique_consecutive" else f"{code}.flatten().sort().values"
    known = tensor_of(editor.value(values))
    is_whole = known is not None and known.dtype in ("bool", "int")
    differ = f"{flat}.diff() != 0" if is_whole else f"{flat}[1:] != {flat}[:-1]"
    text = f"(({differ}).sum() + min({code}.numel(), 1))"
    flow = Flow(hit, editor)
    flow.written.update((node, text) for node in counts if node is not None)
    for node in flow.written:
        assert isinstance(node, cst.BaseExpression)
        flow.follow(node, text)
    gone = (editor.delete(assign),) if isinstance(assign, cst.Assign) else ()
    return FixPlan((*editor.torch_import(call), *gone, *flow.edits), "unsafe", _REASON)


def _values(call: cst.Call, editor: Editor) -> cst.BaseExpression:
    """What ``call`` looks at. Refuses where it gives more than the different values of all of it."""
    if any(a.star or (a.keyword is not None and a.keyword.value not in ("input", "sorted")) for a in call.args):
        raise Refuse("more is asked for than the different values of a whole tensor")
    plain = [a.value for a in call.args if a.keyword is None or a.keyword.value == "input"]
    if dotted_name(call.func, editor) != f"torch.{called(call)}" and isinstance(call.func, cst.Attribute):
        plain.insert(0, call.func.value)
    if len(plain) != 1:
        raise Refuse("more is asked for than the different values of a whole tensor")
    return plain[0]
