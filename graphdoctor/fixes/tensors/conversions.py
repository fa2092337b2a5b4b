"""Tensor data that becomes a Python number, or an array, where the tensor itself would do."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.analysis.purity import called, words
from graphdoctor.fixes.analysis.try_blocks import unhandled
from graphdoctor.fixes.analysis.types import Types, assigned, is_tensor_like, only_tensor
from graphdoctor.fixes.branches.branch import branch_of, rewrite_any
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.imports import import_edit
from graphdoctor.fixes.tensors.number_flow import Flow
from graphdoctor.fixes.tensors.number_functions import MATH, MATH_OF_TWO
from graphdoctor.fixes.tensors.number_parts import copied
from graphdoctor.model.findings import Known
from graphdoctor.static.domain.events import Convert
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal

_KEPT = (
    "A detached 0-d tensor takes the place of the number; results may change where the two promote dtypes differently."
)
_NOT_FINITE = "NaN and infinity, for which int() raises an error, are kept."
#: Reductions that numpy and torch compute alike.
_SAME_IN_NUMPY = words("argmax argmin max mean min prod sum")


def keep_tensor(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """Drop ``.item()``, ``float()`` or ``int()`` where a 0-d tensor can take the place of the number.

    Where the number decides a branch, the branch is rewritten.
    """
    call = hit.place
    if branch_of(call, editor) is not None:
        return rewrite_any(hit, editor)
    if not isinstance(call, cst.Call):
        return Refusal("The conversion is implicit, so there is no call to drop.")
    if isinstance(call.func, cst.Name) and called(call) == "bool" and len(call.args) == 1:
        return keep_truth(hit, editor)
    receiver = _receiver(call)
    if receiver is None:
        return Refusal(f"`{editor.code(call)}` does more than read one number, so it cannot be dropped.")
    try:
        if isinstance(hit.event, Convert):
            only_tensor(receiver, hit.event.value, editor)
        kind, text = Types(editor, hit).kind(receiver), _number_text(receiver, editor)
        read = tensor_of(editor.value(receiver))
        to_whole = called(call) == "int" and (read is None or read.dtype != "int")
        if to_whole:
            unhandled(call, editor)
            text = f"{text}.long()" if kind == "bool" else f"torch.trunc({text})"
            kind = "tensor"
        followed = kind or "tensor"
        flow, known = _followed(hit, editor, lambda flow: flow.follow(call, text, followed))
        reason = f"{_KEPT} {_NOT_FINITE}" if to_whole else _KEPT
        return FixPlan((*editor.torch_import(call), *flow.edits), "unsafe", reason, known=(*known, "zero_gradients"))
    except Refuse as refusal:
        return Refusal(f"{str(refusal)[:1].upper()}{str(refusal)[1:]}.")


def torch_math(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``math.sqrt(t)`` of a tensor becomes ``torch.sqrt(t)``, where the number can be a tensor."""
    call = hit.place
    name = dotted_name(call.func, editor).removeprefix("math.") if isinstance(call, cst.Call) else ""
    if not isinstance(call, cst.Call) or name not in MATH or any(a.star or a.keyword for a in call.args):
        return Refusal("Torch has no function of this name for one tensor.")
    operands = [a.value for a in call.args]
    if len(operands) != (2 if name in MATH_OF_TWO else 1):
        return Refusal("Torch has no function of this name for one tensor.")
    if branch_of(call, editor) is not None:
        return rewrite_any(hit, editor)
    unhandled(call, editor)
    first, *others = operands
    if not is_tensor_like(first, editor):
        return Refusal(f"`{editor.code(first)}` is not known to be a tensor.")
    if name in ("atan2", "hypot") and not is_tensor_like(others[0], editor):
        return Refusal(f"`torch.{name}` takes no number.")
    tensor, rest = _number_text(first, editor), "".join(f", {editor.code(other)}" for other in others)
    flow, known = _followed(hit, editor, lambda flow: flow.math(call, name, tensor, rest))
    precision = "the precision of the tensor" if known else "64 bits like the number"
    reason = f"{_KEPT} It has {precision}, and is NaN where math raises an error."
    return FixPlan((*editor.torch_import(call), *flow.edits), "unsafe", reason, known=(*known, "zero_gradients"))


def _followed(hit: Hit, editor: Editor, start: Callable[[Flow], None]) -> tuple[Flow, tuple[Known, ...]]:
    """What follows the number, and whether a function of ``math`` is rounded to the dtype of its tensor.

    A 0-d tensor of 64 bits leaves the dtype of a floating tensor with dimensions as it is, like the number did.
    """
    flow = Flow(hit, editor, wide=True)
    start(flow)
    if not flow.has_math or flow.ends_beside_floats():
        return flow, ()
    flow = Flow(hit, editor)
    start(flow)
    return flow, ("precision",)


def keep_list(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``v = t.tolist()`` becomes ``v = t`` where only single elements of it are read."""
    call = hit.place
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or call.args:
        return Refusal("The list is not made by a plain call of tolist().")
    flow = Flow(hit, editor)
    flow.sequence(call)
    edit = editor.replace(call, copied(_tensor_text(call.func.value, editor), call, editor))
    return FixPlan((*editor.torch_import(call), edit, *flow.edits), "unsafe", _KEPT)


def keep_truth(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``ok = a.any() and b.any()`` becomes ``ok = a.any() & b.any()``, where ``ok`` can be a tensor."""
    node = hit.place
    for outer in editor.ancestors(node):
        is_not = isinstance(outer, cst.UnaryOperation) and isinstance(outer.operator, cst.Not)
        if not (is_not or isinstance(outer, cst.BooleanOperation)):
            break
        node = outer
    if not isinstance(node, cst.BaseExpression):
        return Refusal("What is tested is not an expression.")
    flow = Flow(hit, editor)
    text = flow.conditions.boolean(node)
    flow.follow(node, f"({text})" if isinstance(cst.parse_expression(text), cst.BinaryOperation) else text, "bool")
    reason = "A bool tensor takes the place of the bool."
    return FixPlan((*editor.torch_import(node), *flow.edits), "unsafe", reason, known=("zero_gradients",))


def python_product(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``np.prod(x.shape)`` becomes ``math.prod(x.shape)``, which stays a Python number."""
    call: cst.CSTNode | None = hit.place
    if isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and len(call.args) == 1:
        value = call.args[0].value
        call = assigned(value, editor) or value
    is_product = isinstance(call, cst.Call) and called(call) == "prod" and len(call.args) == 1
    if not isinstance(call, cst.Call) or not is_product or not editor.code(call.func).startswith(("np.", "numpy.")):
        return Refusal("The number is not shown to come from Python numbers alone, so it stays a numpy number.")
    argument = editor.code(call.args[0].value)
    is_shape = ".shape" in argument or ".size(" in argument or isinstance(call.args[0].value, (cst.List, cst.Tuple))
    if not is_shape:
        return Refusal(f"`{argument}` is not shown to be a shape.")
    edits = (*import_edit("math", editor), editor.replace(call, f"math.prod({argument})"))
    return FixPlan(edits, "unsafe", "The product is a Python int in place of a numpy one.")


def torch_reduction(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``x.numpy().mean().item()`` becomes ``x.mean()``, where the number can be a tensor."""
    call = hit.place
    if not isinstance(call, cst.Call) or called(call) not in ("item", "float"):
        return Refusal("The array is not read as one number.")
    tensor, name = _reduced(_receiver(call), editor)
    if tensor is None:
        return Refusal("The number is not a reduction that numpy and torch compute alike.")
    flow = Flow(hit, editor)
    flow.follow(call, f"{editor.operand(tensor)}.{name}().detach()")
    return FixPlan((*editor.torch_import(call), *flow.edits), "unsafe", _KEPT)


def _reduced(node: cst.BaseExpression | None, editor: Editor) -> tuple[cst.BaseExpression | None, str]:
    """The tensor and the reduction in ``x.numpy().mean()`` and ``np.mean(x.numpy())``; no tensor in other code."""
    name = called(node) if isinstance(node, cst.Call) else ""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or name not in _SAME_IN_NUMPY:
        return None, ""
    array = node.func.value
    if dotted_name(node.func, editor) == f"numpy.{name}" and len(node.args) == 1 and not node.args[0].keyword:
        array = node.args[0].value
    elif node.args:
        return None, ""
    is_array = isinstance(array, cst.Call) and called(array) == "numpy" and isinstance(array.func, cst.Attribute)
    return (array.func.value, name) if is_array else (None, "")  # type: ignore[attr-defined]


def _number_text(receiver: cst.BaseExpression, editor: Editor) -> str:
    """The one number of a tensor, as a 0-d tensor: ``torch.clamp(count, min=1).item()`` may be that of a vector."""
    tensor, text = tensor_of(editor.value(receiver)), _tensor_text(receiver, editor)
    return f"{text}.reshape(())" if tensor is not None and tensor.ndim else text


def _tensor_text(receiver: cst.BaseExpression, editor: Editor) -> str:
    """The tensor without its history, as the number had none."""
    text = editor.operand(receiver)
    return text if text.endswith((".detach()", ".data")) else f"{text}.detach()"


def _receiver(call: cst.Call) -> cst.BaseExpression | None:
    """The tensor in ``t.item()``, ``float(t)`` and ``int(t)``."""
    if isinstance(call.func, cst.Attribute):
        return call.func.value if called(call) == "item" and not call.args else None
    return call.args[0].value if called(call) in ("float", "int") and len(call.args) == 1 else None
