"""What ends the graph, in another form of the same: tensors as ``alpha=`` and as an index, least squares."""

from __future__ import annotations

import re
from typing import Literal

import libcst as cst

from graphdoctor.fixes.analysis.conditions import receiver, tight
from graphdoctor.fixes.analysis.purity import called, is_torch_function
from graphdoctor.fixes.analysis.types import is_number
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.domain.events import Subscript
from graphdoctor.static.domain.value_functions import options, tensor_of
from graphdoctor.static.domain.values import Const, Function, PythonValue, Tensor
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

#: The argument that the number multiplies, counted with the tensor that a method is called of.
_SCALED = {"add": ("alpha", 1), "sub": ("alpha", 1), "addcmul": ("value", 1), "addcdiv": ("value", 1)}
_PSEUDO_INVERSE = (
    "The pseudo-inverse gives the same solution up to rounding; it costs more, and is less exact for large matrices, "
    "and takes a batch of vectors for a matrix. NaN and infinity in the matrix raise."
)


def multiplied(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``torch.add(x, y, alpha=t)`` becomes ``torch.add(x, y * t)``, ``x.addcmul(a, b, value=t)`` alike."""
    call = hit.place if isinstance(hit.place, cst.Call) else next(
        (n for n in editor.ancestors(hit.place) if isinstance(n, cst.Call)), None
    )  # fmt: skip
    if call is None or called(call).rstrip("_") not in _SCALED or any(a.star for a in call.args):
        return Refusal("No number in this call multiplies one of its arguments.")
    keyword, at = _SCALED[called(call).rstrip("_")]
    at -= 0 if is_torch_function(call, editor) else 1
    scale = next((a for a in call.args if a.keyword is not None and a.keyword.value == keyword), None)
    if scale is None or len(call.args) <= at or call.args[at].keyword is not None:
        return Refusal(f"`{keyword}` is not passed by name, after the tensors.")
    texts = []
    for number, argument in enumerate(call.args):
        label = f"{argument.keyword.value}=" if argument.keyword is not None else ""
        text = label + editor.code(argument.value)
        if number == at:
            text = f"{tight(text)} * {tight(editor.code(scale.value))}"
        if argument is not scale:
            texts.append(text)
    edit = editor.replace(call, f"{editor.code(call.func)}({', '.join(texts)})")
    return FixPlan((edit,), "unsafe", "The product is rounded to the dtype of the tensors.")


def select_by_tensor(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``x[2, :, i]`` becomes ``x[2, :, i.long().reshape(1)].squeeze(1)`` where ``i`` is a number that was computed.

    Where that is stored to, the one element of the index stays: ``x[i.long().reshape(1)] = y``.
    Raises Refuse where it does not fit.
    """
    node, event = hit.place, hit.event
    refused = Refusal("An index that is computed in the graph breaks even when numbers are recorded.")
    if not isinstance(node, cst.Subscript) or not isinstance(event, Subscript) or event.mode == "delete":
        return refused
    if not isinstance(event.receiver, Tensor) or event.receiver.ndim == 0:
        return refused
    texts, kinds = [], []
    for element in node.slice:
        kind = _kind(element.slice, editor)
        text = editor.module.code(element.slice).rstrip()
        # Tensors of bytes are masks, and only 0-d ones of other small types are indices.
        texts.append(f"{receiver(text)}.long().reshape(1)" if kind == "tensor" else text)
        # The dimension that a plain number selects from is gone before tensors select.
        kinds += [] if kind == "number" else [kind]
    tensors = [n for n, kind in enumerate(kinds) if kind == "tensor"]
    if not tensors or "other" in kinds:
        return refused
    if tensors[-1] - tensors[0] >= len(tensors):
        raise Refuse("a slice stands between tensors that are indices")
    text = f"{editor.code(node.value)}[{', '.join(texts)}]"
    if event.mode != "load" and tensors[0] and not _is_one_number(editor.statement_of(node), editor):
        raise Refuse("what is written would need another dimension")
    if event.mode != "load":
        return FixPlan((editor.replace(node, text),), "unsafe", "The index is a tensor of one element.")
    check_unchanged_view(node, editor)
    copied = "What is read is a copy, no view of the tensor."
    return FixPlan((editor.replace(node, f"{text}.squeeze({tensors[0]})"),), "unsafe", copied)


def _is_one_number(statement: cst.CSTNode, editor: Editor) -> bool:
    """Whether ``statement`` writes one number."""
    value = statement.value if isinstance(statement, (cst.Assign, cst.AugAssign)) else None
    if value is None:
        return False
    tensor = tensor_of(editor.value(value))
    return is_number(value, editor) or (tensor is not None and tensor.ndim == 0)


def _kind(part: cst.BaseSlice, editor: Editor) -> Literal["number", "other", "slice", "tensor"]:
    """What a part of an index is: a computed number (tensor), a plain number, or what keeps or adds a dimension."""
    if not isinstance(part, cst.Index):
        return "slice"
    if part.star is not None:
        return "other"
    values = options(editor.value(part.value))
    if all(isinstance(v, Tensor) and v.dtype == "int" and v.ndim in (0, None) for v in values):
        return "tensor"
    if isinstance(part.value, cst.Name) and part.value.value == "None":
        return "slice"
    is_plain = all(
        (isinstance(v, Const) and type(v.value) is int)
        or (isinstance(v, PythonValue) and v.kind in ("int", "size") and not v.data_dependent)
        for v in values
    )
    return "number" if is_plain else "other"


def check_unchanged_view(node: cst.Subscript, editor: Editor) -> None:
    """Refuses where what is read, a view, is changed in place."""
    function, statement = editor.function_of(node), editor.statement_of(node)
    read: list[cst.BaseExpression] = [node]
    if isinstance(statement, cst.Assign) and statement.value is node and function is not None:
        names = [t.target.value for t in statement.targets if isinstance(t.target, cst.Name)]
        if len(names) != len(statement.targets):
            raise Refuse("the value is stored where other code may read it")
        read += [use for name in names for use in editor.mentions(function, name)]
    for use in read:
        user = editor.parent(use)
        is_method = isinstance(user, cst.Attribute) and (user.attr.value.endswith("_") or user.attr.value == "data")
        is_target = isinstance(user, cst.AugAssign) and user.target is use
        outer = editor.parent(user) if isinstance(user, cst.Subscript) else None
        if is_method or is_target or isinstance(outer, (cst.AssignTarget, cst.AugAssign)):
            raise Refuse(f"`{editor.code(node)}` is a view that is changed in place")
        call = editor.parent(user) if isinstance(user, cst.Arg) else None
        if isinstance(user, cst.Arg) and isinstance(call, cst.Call) and _may_write(call, user, editor):
            raise Refuse(f"`{editor.code(node)}` is a view, in which `{editor.code(call.func)}` may write")


def _may_write(call: cst.Call, argument: cst.Arg, editor: Editor) -> bool:
    """Whether ``call`` gets ``argument`` to write to, or is one of a function of the code that writes in place."""
    if argument.keyword is not None and argument.keyword.value == "out":
        return True
    functions = (f.info.node for f in options(editor.value(call.func)) if isinstance(f, Function))
    return any(_writes(node) for function in functions for node in walk(function.body))


def _writes(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.Call):
        is_method = isinstance(node.func, cst.Attribute) and re.search("[a-z]_$", node.func.attr.value) is not None
        return is_method or any(arg.keyword is not None and arg.keyword.value == "out" for arg in node.args)
    return isinstance(node, cst.AugAssign) or (
        isinstance(node, cst.AssignTarget) and isinstance(node.target, cst.Subscript)
    )


def least_squares(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``torch.linalg.lstsq(a, b).solution`` becomes ``torch.linalg.pinv(a) @ b``."""
    call = hit.place
    read = editor.parent(call)
    if not isinstance(call, cst.Call) or not isinstance(read, (cst.Attribute, cst.Subscript)):
        return Refusal("More than the solution is kept, and how much there is of the rest depends on data.")
    if editor.code(read).removeprefix(editor.code(call)) not in (".solution", "[0]"):
        return Refusal("More than the solution is kept, and how much there is of the rest depends on data.")
    if len(call.args) != 2 or any(a.keyword is not None or a.star for a in call.args):
        return Refusal("The call says how the system is solved.")
    text = f"(torch.linalg.pinv({editor.code(call.args[0].value)}) @ {editor.operand(call.args[1].value)})"
    edits = (*editor.torch_import(call), editor.replace(read, text))
    return FixPlan(edits, "unsafe", _PSEUDO_INVERSE, known=("costly", "not_finite"))
