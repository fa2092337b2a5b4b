"""Functions of Python for numbers, as operators of torch for 0-d tensors."""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from graphdoctor.fixes.analysis.conditions import Conditions, receiver, tight
from graphdoctor.fixes.analysis.purity import called, calls, is_torch_function, root, words
from graphdoctor.fixes.analysis.types import Kind, is_number, is_tensor_like
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import names, parameters
from graphdoctor.fixes.tensors.number_parts import ARGUMENT
from graphdoctor.static.domain.value_functions import is_read, options, tensor_of
from graphdoctor.static.domain.values import Function, Tensor, TorchModule
from graphdoctor.syntax.walk import find

#: Functions of ``math`` that take two numbers, and the names of all that torch has too, with the same values.
MATH_OF_TWO = {"atan2": "atan2", "copysign": "copysign", "fmod": "fmod", "hypot": "hypot", "pow": "pow"}
MATH = (
    MATH_OF_TWO
    | {"fabs": "abs", "degrees": "rad2deg", "radians": "deg2rad"}
    | {
        name: name
        for name in words("""
        acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp exp2 expm1 floor isfinite isinf isnan lgamma log
        log10 log1p log2 sin sinh sqrt tan tanh trunc
    """)
    }
)

#: Functions of torch whose first two arguments may be 0-d tensors.
_BINARY = words("add atan2 div eq float_power ge gt le lt maximum minimum mul ne pow remainder sub true_divide where")
#: Methods that write into their tensor what one 0-d tensor gives.
_WRITERS = words("add_ div_ fill_ mul_ sub_")
_BOUNDS = words("clamp clamp_max clamp_min clip")
#: Functions that give one number, unless they are given a ``reduction``.
_LOSSES = words("""
    binary_cross_entropy binary_cross_entropy_with_logits cross_entropy huber_loss kl_div l1_loss mse_loss nll_loss
    smooth_l1_loss
""")


def of_builtin(
    call: cst.Call, argument: cst.Arg, text: str, kind: Kind, tensors: Collection[str], editor: Editor
) -> str:
    """``float(n)``, ``int(n)``, ``round(n, 2)``, ``abs(n)``, ``max(n, 1)`` with the 0-d tensor ``text`` in place of n.

    ``argument`` holds n; ``tensors`` are the names that hold 0-d tensors now. Raises Refuse where it does not fit.
    """
    name, alone = called(call), len(call.args) == 1
    if name == "float" and alone:
        # The parentheses of the call are gone.
        return tight(text)
    if name == "int" and alone:
        return counted(text) if kind == "bool" else f"torch.trunc({text})"
    if name == "round" and alone:
        return f"torch.round({text})"
    if name == "round" and isinstance(call.args[1].value, cst.Integer):
        return f"torch.round({text}, decimals={editor.code(call.args[1].value)})"
    if name == "abs":
        return f"{receiver(text)}.abs()"
    if name in ("max", "min") and len(call.args) == 2 and all(a.keyword is None for a in call.args):
        bound = next(a.value for a in call.args if a is not argument)
        if _is_plain(bound, tensors, editor):
            return _bounded(call, text, editor.code(bound), call.args[0] is argument, editor)
    raise Refuse(ARGUMENT)


def _bounded(call: cst.Call, text: str, bound: str, is_first: bool, editor: Editor) -> str:
    """``max`` or ``min`` of the tensor ``text`` and a number. Beside NaN, Python gives back what stands first."""
    name = called(call)
    if is_first:
        return f"{receiver(text)}.clamp({'min' if name == 'max' else 'max'}={bound})"
    sign = ">" if name == "max" else "<"
    if text.isidentifier():
        return f"torch.where({text} {sign} {bound}, {text}, {bound})"
    if any(isinstance(outer, cst.BaseComp) for outer in editor.ancestors(call)):
        # Python does not take an assignment everywhere in a comprehension.
        raise Refuse(ARGUMENT)
    number = editor.fresh("number")
    return f"torch.where(({number} := {text}) {sign} {bound}, {number}, {bound})"


def _is_plain(node: cst.BaseExpression, tensors: Collection[str], editor: Editor) -> bool:
    """A literal, or a Python number that was not read from a tensor."""
    if isinstance(node, (cst.Integer, cst.Float)):
        return True
    return not names(node) & set(tensors) and is_number(node, editor) and not is_read(editor.value(node))


def one_of_two(whole: cst.IfExp, tensors: Collection[str], wide: bool, conditions: Conditions, editor: Editor) -> str:
    """``math.log(n) if n > 0 else 1.0`` as ``torch.where``; empty where it is computed of other things."""
    held = set(tensors)
    if not names(whole.test) & held or not (names(whole.body) | names(whole.orelse)) & held:
        return ""
    arms = [of_numbers(arm, tensors, wide, editor) for arm in (whole.body, whole.orelse)]
    if not all(arms) or (condition := conditions.split(whole.test)).python or not condition.scalar:
        return ""
    first, second = (arm[1:-1] if arm.startswith("(") else arm for arm in arms)
    return f"torch.where({condition.tensor}, {first}, {second})"


def of_numbers(node: cst.BaseExpression, tensors: Collection[str], wide: bool, editor: Editor) -> str:
    """The code of ``node``, arithmetic and ``math`` of numbers of which the names ``tensors`` are 0-d tensors now.

    Empty for anything else. Where it is ``wide``, functions get 64 bits.
    """
    if isinstance(node, cst.BinaryOperation):
        sides = [of_numbers(side, tensors, wide, editor) for side in (node.left, node.right)]
        operator = editor.module.tree.code_for_node(node.operator)
        return f"({sides[0]}{operator}{sides[1]})" if all(sides) else ""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        inner = of_numbers(node.expression, tensors, wide, editor)
        return f"(-{inner})" if inner else ""
    if isinstance(node, cst.Call) and root(node.func) == "math" and called(node) in MATH and len(node.args) == 1:
        inner = of_numbers(node.args[0].value, tensors, wide, editor)
        is_tensor = bool(names(node.args[0]) & set(tensors))
        double = ".double()" if wide else ""
        return f"torch.{MATH[called(node)]}({tight(inner)}{double})" if inner and is_tensor else ""
    if isinstance(node, cst.Name) and node.value in tensors:
        return node.value
    return editor.code(node) if _is_plain(node, tensors, editor) else ""


def beside(text: str, other: cst.BaseExpression, is_drawn: bool, is_computed: bool, editor: Editor) -> str:
    """A number of 64 bits in the dtype of ``other``, where that may be a tensor without dimensions and take its own."""
    tensor = tensor_of(editor.value(other))
    if tensor is None or not (is_drawn or is_computed):
        return text
    if isinstance(other, cst.Name) and tensor.dtype == "float" and (tensor.ndim == 0 if is_drawn else not tensor.ndim):
        return f"{receiver(text)}.to({other.value}.dtype)"
    if not is_drawn or not _is_one_number(other, tensor, editor):
        return text
    editor.torch_import(other)
    return f"{receiver(text)}.to(torch.get_default_dtype())"


def _is_one_number(node: cst.BaseExpression, tensor: Tensor, editor: Editor) -> bool:
    """Whether ``node`` is a tensor without dimensions, such as a loss that is reduced."""
    if not isinstance(node, cst.Call) or tensor.ndim is not None:
        return tensor.ndim == 0
    layer = editor.value(node.func)
    is_loss = isinstance(layer, TorchModule) and layer.qualname.endswith("Loss")
    is_loss = is_loss or (called(node) in _LOSSES and is_torch_function(node, editor))
    return is_loss and not any(a.keyword is not None and a.keyword.value == "reduction" for a in node.args)


def counted(text: str) -> str:
    """A tensor of bools as the number that Python counts with: two of them added are a bool in torch."""
    return f"{receiver(text)}.long()"


def takes_tensor(call: cst.Call, argument: cst.Arg, position: int, tensors: Collection[str], editor: Editor) -> bool:
    """The argument may be a 0-d tensor; of ``clamp`` where each bound is one, because Dynamo breaks on mixed ones.

    ``tensors`` are the names that hold 0-d tensors now.
    """
    name, is_function = called(call), is_torch_function(call, editor)
    if not is_function and not (isinstance(call.func, cst.Attribute) and is_tensor_like(call.func.value, editor)):
        return False
    first = 1 if is_function else 0
    if name in _BOUNDS:
        bounds = call.args[first:]
        plain = all(a.keyword is None or a.keyword.value in ("min", "max") for a in bounds)
        return plain and all(a is argument or names(a.value) & set(tensors) for a in bounds)
    if name == "masked_fill":
        return position == first + 1
    if not is_function and name in _WRITERS:
        return len(call.args) == 1 and argument.keyword is None
    return name in _BINARY and argument.keyword is None and position <= first + (name == "where")


def asks_for_tensor(call: cst.Call, argument: cst.Arg, position: int, editor: Editor) -> bool:
    """Whether ``call`` is one of functions of the project that ask whether this argument is a tensor."""
    callees = options(editor.value(call.func))
    return all(isinstance(callee, Function) and _asks(callee, argument, position) for callee in callees)


def _asks(callee: Function, argument: cst.Arg, position: int) -> bool:
    """Whether the function has ``isinstance(cond, torch.Tensor)`` of the parameter that ``argument`` goes to."""
    node = callee.info.node
    if not isinstance(node, cst.FunctionDef):
        return False
    given = list(parameters(node))
    at = position + (callee.bound is not None)
    name = argument.keyword.value if argument.keyword is not None else given[at] if at < len(given) else ""
    asked = [c for c in calls(callee.info.body) if called(c) in ("is_tensor", "isinstance") and c.args]
    return any(
        isinstance(c.args[0].value, cst.Name)
        and c.args[0].value.value == name
        and (called(c) == "is_tensor" or "Tensor" in {n.value for n in find(c.args[-1], cst.Name)})
        for c in asked
    )
