"""``sorted`` on tensors, as the sort of torch; on what is named, by the names."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.analysis.types import is_tensor_like
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.rule import FixPlan, Hit, Refusal


def sort_in_graph(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``sorted([a, b])`` of 0-d tensors becomes ``list(torch.stack([a, b]).sort().values)``.

    Raises Refuse where it does not fit.
    """
    call = hit.place
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Name) or called(call) != "sorted":
        return Refusal(
            "Python compares the items one by one; stack them and use `torch.max`, `torch.min` or `torch.sort`."
        )
    options = {a.keyword.value: a.value for a in call.args if a.keyword is not None}
    items = call.args[0].value
    if set(options) - {"reverse"} or len(call.args) != 1 + len(options):
        raise Refuse("a key sorts in another order than the values")
    is_list = isinstance(items, (cst.List, cst.Tuple, cst.ListComp))
    is_named = isinstance(items, cst.Call) and called(items) == "items"
    if is_named or (not is_list and not is_tensor_like(items, editor)):
        raise Refuse(f"`{editor.code(items)}` is not shown to be a tensor or a list of tensors")
    values = f"torch.stack({editor.code(items)})" if is_list else editor.operand(items)
    descending = f"descending={editor.code(options['reverse'])}" if options else ""
    edit = editor.replace(call, f"list({values}.sort({descending}).values)")
    reason = "The values must be tensors of one number and one dtype; equal ones may change places."
    return FixPlan((*editor.torch_import(call), edit), "unsafe", reason)


def sort_by_names(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``sorted(named.items())`` becomes ``sorted(named.items(), key=lambda item: item[0])``.

    The names of a dict are all different, so Python never comes to compare the values; Dynamo asks for them.
    """
    call = hit.place
    items = call.args[0].value if isinstance(call, cst.Call) and called(call) == "sorted" and call.args else None
    if not isinstance(call, cst.Call) or not isinstance(items, cst.Call) or called(items) != "items" or items.args:
        return Refusal("What is sorted are not the items of a dict.")
    if any(a.star or (a.keyword is not None and a.keyword.value == "key") for a in call.args):
        raise Refuse("a key sorts in another order than the names")
    edit = editor.replace(items, f"{editor.code(items)}, key=lambda item: item[0]")
    return FixPlan((edit,), "unsafe", "The names of a dict are all different; those of another mapping may not be.")
