"""Operations on the memory of a tensor, or on a sparse one, as operations on a dense tensor."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.analysis.uses import uses
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import parameters
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal


def reshape(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``y.resize_(2, 16)`` of a local ``y`` becomes ``y = y.reshape(2, 16)``."""
    call = hit.place
    if not isinstance(call, cst.Call) or called(call) not in ("resize_", "resize_as_"):
        return Refusal("This does not resize a tensor.")
    statement, function = editor.statement_of(call), editor.function_of(call)
    name = call.func.value if isinstance(call.func, cst.Attribute) else None
    if not isinstance(statement, cst.Expr) or statement.value is not call or not isinstance(name, cst.Name):
        return Refusal("The resized tensor is not a plain name in a statement of its own.")
    if function is None or name.value in parameters(function) or not editor.assignments(function, name.value):
        return Refusal(f"`{name.value}` was not made in this function, so its owner would miss the new shape.")
    arguments = ", ".join(editor.code(a.value) for a in call.args)
    size = f"{arguments}.shape" if called(call) == "resize_as_" else arguments
    edit = editor.replace(statement, f"{name.value} = {name.value}.reshape({size})")
    reason = "Another number of elements raises, and other names of the tensor keep its old shape."
    return FixPlan((edit,), "unsafe", reason)


def of_final_size(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``x.new().resize_(2, 16)`` becomes ``x.new_empty(2, 16)``: both have the dtype and the device of ``x``."""
    call = hit.place
    method = call.func if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) else None
    made = method.value if method is not None else None
    if not isinstance(made, cst.Call) or not isinstance(made.func, cst.Attribute) or made.func.attr.value != "new":
        return Refusal("The resized tensor is not one that `new()` makes.")
    assert isinstance(call, cst.Call)
    resizes = called(call) in ("resize_", "resize_as_") and not any(a.keyword or a.star == "**" for a in call.args)
    if made.args or not resizes or not call.args or tensor_of(editor.value(made.func.value)) is None:
        return Refusal("Only `new()` of a tensor, without arguments, makes one that has no numbers to keep.")
    size = ", ".join(f"({editor.code(a)})" if isinstance(a.value, cst.Tuple) else editor.code(a) for a in call.args)
    if called(call) == "resize_as_":
        size = f"{editor.operand(call.args[0].value)}.shape"
    edit = editor.replace(call, f"{editor.code(made.func.value)}.new_empty({size})")
    return FixPlan((edit,), "safe", "A tensor that is made with its final size has the same dtype, device and memory.")


def size_of_memory(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``x.untyped_storage().nbytes()`` becomes ``x.numel() * x.element_size()``."""
    call = hit.place
    storage = call.func.value if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) else None
    if not isinstance(storage, cst.Call) or called(storage) != "untyped_storage":
        return Refusal("This does not ask how large the memory of a tensor is.")
    assert isinstance(call, cst.Call) and isinstance(storage.func, cst.Attribute)
    if called(call) not in ("nbytes", "size") or not isinstance(storage.func.value, (cst.Name, cst.Attribute)):
        return Refusal("What is read of the memory does not follow from the shape.")
    tensor = editor.code(storage.func.value)
    edit = editor.replace(call, f"({tensor}.numel() * {tensor}.element_size())")
    return FixPlan((edit,), "unsafe", f"The same while `{tensor}` is no view of a larger tensor.")


def stay_dense(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``s = x.to_sparse()`` becomes ``s = x`` where ``s`` is only made dense again or multiplied.

    Raises Refuse where it does not fit.
    """
    conversion = _conversion(hit, editor)
    if conversion is None or not isinstance(conversion.func, cst.Attribute):
        return Refusal("The sparse tensor is not made by to_sparse() in this function.")
    edits = [editor.replace(conversion, editor.code(conversion.func.value))]
    user = editor.parent(conversion)
    reads = uses(user, editor) if isinstance(user, cst.Assign) else [conversion]
    for read in reads:
        outer = editor.parent(read)
        dense = editor.parent(outer) if isinstance(outer, cst.Attribute) else None
        if isinstance(dense, cst.Call) and dense.func is outer and called(dense) == "to_dense" and not dense.args:
            # A new tensor, as to_dense() makes one.
            text = editor.operand(conversion.func.value) if read is conversion else editor.operand(read)
            edits.append(editor.replace(dense, f"{text}.clone()"))
        elif isinstance(outer, cst.Arg) and _is_product(editor.parent(outer), editor):
            product = editor.parent(outer)
            assert isinstance(product, cst.Call)
            edits.append(editor.replace(product.func, "torch.mm"))
        elif not (isinstance(outer, cst.BinaryOperation) and isinstance(outer.operator, cst.MatrixMultiply)):
            raise Refuse(f"line {editor.location(read).line} does more with the sparse tensor than make it dense")
    reason = (
        "The zeros are stored and computed with, and get gradients; the values are the same, but for products with NaN "
        "and infinity."
    )
    edits = edits[1:] if reads == [conversion] and len(edits) > 1 else edits
    return FixPlan(tuple(edits), "unsafe", reason, known=("gradients", "not_finite"))


def _conversion(hit: Hit, editor: Editor) -> cst.Call | None:
    """The ``x.to_sparse()`` that the hit is about: itself, or what gave the name that it works on."""
    call = hit.place
    if not isinstance(call, cst.Call):
        return None
    if called(call) == "to_sparse":
        return None if call.args else call
    receiver = call.func.value if isinstance(call.func, cst.Attribute) and called(call) == "to_dense" else None
    if isinstance(receiver, cst.Call) and called(receiver) == "to_sparse" and not receiver.args:
        return receiver
    operand = receiver if receiver is not None else call.args[0].value if call.args else None
    function = editor.function_of(call)
    if function is None or not isinstance(operand, cst.Name):
        return None
    bound = editor.assignments(function, operand.value)
    value = bound[0].value if len(bound) == 1 and isinstance(bound[0], cst.Assign) else None
    return value if isinstance(value, cst.Call) and called(value) == "to_sparse" and not value.args else None


def _is_product(node: cst.CSTNode | None, editor: Editor) -> bool:
    return isinstance(node, cst.Call) and editor.code(node.func) == "torch.sparse.mm"
