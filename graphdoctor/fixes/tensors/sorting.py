"""``sorted`` on tensors, as the sort of torch."""

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
    if not is_list and not is_tensor_like(items, editor):
        raise Refuse(f"`{editor.code(items)}` is not shown to be a tensor or a list of tensors")
    values = f"torch.stack({editor.code(items)})" if is_list else editor.operand(items)
    descending = f"descending={editor.code(options['reverse'])}" if options else ""
    edit = editor.replace(call, f"list({values}.sort({descending}).values)")
    reason = "The values must be tensors of one number and one dtype; equal ones may change places."
    return FixPlan((*editor.torch_import(call), edit), "unsafe", reason)
