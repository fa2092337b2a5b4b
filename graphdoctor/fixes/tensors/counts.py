"""``torch.bincount`` with a length that is given, as a sum of ones of that length."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.analysis.purity import called, calls, is_pure
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

_REASON = "A number of `{length}` or more is an error; `bincount` made the result longer."


def count_into(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``torch.bincount(x, minlength=n)`` becomes ``torch.zeros(n).scatter_add_(0, x, ones)``, in whole numbers.

    Raises Refuse where it does not fit.
    """
    call = hit.place
    if not isinstance(call, cst.Call) or called(call) != "bincount" or any(a.star for a in call.args):
        return Refusal("Nothing is counted by bincount.")
    given = {a.keyword.value: a.value for a in call.args if a.keyword is not None}
    plain = [a.value for a in call.args if a.keyword is None]
    if dotted_name(call.func, editor) != "torch.bincount" and isinstance(call.func, cst.Attribute):
        plain.insert(0, call.func.value)
    given |= dict(zip(("input", "weights", "minlength"), plain, strict=False))
    if "input" not in given or "minlength" not in given:
        raise Refuse("how long the result has to be is not given; `minlength` says it")
    if "weights" in given and editor.code(given["weights"]) != "None":
        raise Refuse("weights are added up, in a dtype of their own")
    numbers = editor.operand(given["input"])
    for node in walk(given["input"]):
        if isinstance(node, (cst.NamedExpr, cst.Await, cst.Yield)):
            raise Refuse(f"`{numbers}` would be computed more than once")
    if any(not is_pure(c, editor) for c in calls(given["input"])):
        raise Refuse(f"`{numbers}` would be computed more than once")
    length = editor.code(given["minlength"])
    text = (
        f"{numbers}.new_zeros({length}, dtype=torch.int64)"
        f".scatter_add_(0, {numbers}, torch.ones_like({numbers}, dtype=torch.int64))"
    )
    edits = (*editor.torch_import(call), editor.replace(call, text))
    return FixPlan(edits, "unsafe", _REASON.format(length=length))
