"""``with torch.device(...)`` around functions that create tensors, as their ``device=`` argument."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.purity import called, calls, is_pure, is_torch_function, words
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.rule import FixPlan, Hit, Refusal

#: Functions of torch that create a tensor from numbers.
_FACTORIES = words("""
    arange empty eye full linspace logspace normal ones rand randint randn randperm scalar_tensor tensor zeros
""")


def device_arguments(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """Each factory in the block gets ``device=``, and the ``with`` is removed.

    Raises Refuse where it does not fit.
    """
    item = next((n for n in (hit.place, *editor.ancestors(hit.place)) if isinstance(n, cst.WithItem)), None)
    block = editor.parent(item) if item is not None else None
    is_device = item is not None and isinstance(item.item, cst.Call) and editor.code(item.item.func) == "torch.device"
    if item is None or not isinstance(block, cst.With) or not is_device:
        return Refusal("This does not set the device of new tensors for a block.")
    if len(block.items) > 1 or item.asname is not None:
        raise Refuse("the statement enters more than the device")
    for call in calls(block.body):
        if not is_pure(call, editor) and called(call) not in _FACTORIES:
            raise Refuse(f"`{editor.code(call)}` may create tensors of its own on the device")
    indent = editor.indent_of(block)
    device = _GiveDevice(editor, editor.code(item.item))
    lines = []
    for statement in block.body.body:
        editor.dedented(statement)
        changed = statement.visit(device)
        assert isinstance(changed, cst.CSTNode)
        lines += editor.module.tree.code_for_node(changed).rstrip().split(editor.newline)
    text = (editor.newline + indent).join(lines)
    return FixPlan((editor.replace(block, text),), "unsafe", "The tensors are created on the device as before.")


class _GiveDevice(cst.CSTTransformer):
    """``torch.ones(8)`` becomes ``torch.ones(8, device=...)``."""

    def __init__(self, editor: Editor, device: str) -> None:
        self.editor = editor
        self.device = cst.parse_expression(device)

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        has_device = any(a.keyword is not None and a.keyword.value == "device" for a in original_node.args)
        if has_device or called(original_node) not in _FACTORIES or not is_torch_function(original_node, self.editor):
            return updated_node
        equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
        return updated_node.with_changes(
            args=[*updated_node.args, cst.Arg(self.device, keyword=cst.Name("device"), equal=equal)]
        )
