"""Arithmetic operators on abstract values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import libcst as cst

from graphdoctor.static.domain import instance_checks
from graphdoctor.static.domain.events import Call, Convert, Decide
from graphdoctor.static.domain.torch_tables import DUNDERS
from graphdoctor.static.domain.value_functions import (
    holds_tensor,
    is_read,
    join,
    options,
)
from graphdoctor.static.domain.values import (
    UNKNOWN,
    Const,
    Instance,
    LazyText,
    PythonValue,
    Seq,
    Tensor,
    Unknown,
    Value,
)
from graphdoctor.static.interp import calls
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.library_models import containers, strings, unknown_numbers

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Subtract": operator.sub, "Multiply": operator.mul, "Divide": operator.truediv,
    "FloorDivide": operator.floordiv, "Modulo": operator.mod, "Power": operator.pow, "BitAnd": operator.and_,
    "BitOr": operator.or_, "BitXor": operator.xor, "LeftShift": operator.lshift, "RightShift": operator.rshift,
}  # fmt: skip

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Equal": operator.eq, "NotEqual": operator.ne, "LessThan": operator.lt, "LessThanEqual": operator.le,
    "GreaterThan": operator.gt, "GreaterThanEqual": operator.ge,
}  # fmt: skip

_SAFE = (bool, int, float, str, type(None))


def tensor_result(left: Tensor | None, right: Tensor | None, dtype: str | None) -> Tensor:
    """The tensor an elementwise operator gives."""
    both = [t for t in (left, right) if t is not None]
    ndims = [t.ndim for t in both]
    ndim = None if None in ndims else max(n for n in ndims if n is not None)
    return Tensor(
        dtype=dtype,
        ndim=ndim,
        numpy=all(t.numpy for t in both),
        is_known=any(t.is_known for t in both),
        constant=all(t.constant for t in both),
        sizes=both[0].sizes if len({t.sizes for t in both}) == 1 else None,
        subclass=any(t.subclass for t in both),
    )


def use(interpreter: Interpreter, node: cst.CSTNode, value: Value, how: str) -> None:
    """Emit ``Convert`` where ``value`` is text or a hash of tensor data, which the operation needs."""
    if isinstance(value, LazyText):
        interpreter.emit(Convert, node, value=value, to="use", how=how)


def binary(interpreter: Interpreter, node: cst.CSTNode, name: str, left: Value, right: Value) -> Value:
    """``left <name> right`` for the libcst operator class ``name``."""
    use(interpreter, node, left, name)
    use(interpreter, node, right, name)
    unknown_numbers.need_in_arithmetic(interpreter, node, left, right)
    if (method := DUNDERS.get(name)) is not None and _is_of_object(method, left, right):
        interpreter.emit(Call, node, qualname=f"operator.{method}", args=(left, right), kwargs={}, receiver=None)
    pairs = [(a, b) for a in options(left) for b in options(right)]
    return join(*[_binary(interpreter, node, name, a, b) for a, b in pairs[:17]])


def _binary(interpreter: Interpreter, node: cst.CSTNode, name: str, a: Value, b: Value) -> Value:
    """``a <name> b``, where neither is one of several values."""
    if isinstance(a, Const) and isinstance(a.value, (str, bytes)) and name == "Modulo":
        if holds_tensor(b):
            interpreter.emit(Convert, node, value=b, to="format", how="%")
        return strings.interpolated(a.value)
    if isinstance(a, Instance) or isinstance(b, Instance):
        return _with_object(interpreter, node, name, a, b)
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return _with_tensor(interpreter, node, name, a, b)
    if isinstance(a, Const) and isinstance(b, Const):
        return _fold(name, a.value, b.value)
    read = is_read(a) or is_read(b)
    if read and name == "Multiply" and (isinstance(a, Seq) or isinstance(b, Seq)):
        interpreter.emit(Decide, node, how="repeat")
    container = containers.combined(name, a, b) or (instance_checks.union(a, b) if name == "BitOr" else None)
    if container is not None:
        return container
    if read:
        whole = {kind(a), kind(b)} <= {"int", "bool"} and name not in ("Divide", "Power")
        return PythonValue("int" if whole else "number", data_dependent=True)
    return _with_plain_values(name, a, b)


def _with_tensor(interpreter: Interpreter, node: cst.CSTNode, name: str, a: Value, b: Value) -> Value:
    """``a <name> b``, of which at least one is a tensor."""
    if name == "Multiply" and _is_display(node):
        return _repeated(interpreter, node, a, b)
    left = a if isinstance(a, Tensor) else None
    right = b if isinstance(b, Tensor) else None
    found = tensor_result(left, right, _dtype(name, a, b))
    # A numpy scalar that eager code computes is an input of the graph, like its operands.
    if not found.numpy or not found.constant:
        return found
    if not interpreter.frame.compiled:
        return replace(found, argument=True)
    # What the graph computes of such an input has no known value.
    return replace(found, constant=not any(t.argument for t in (left, right) if t is not None))


def _with_plain_values(name: str, a: Value, b: Value) -> Value:
    """``a <name> b`` of numbers and strings, at least one of which is not known."""
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return UNKNOWN
    kinds = {kind(a), kind(b)}
    if "str" in kinds:
        return strings.joined(Const(""), (a, b)) if name == "Add" else PythonValue("str")
    if kinds <= {"int", "bool", "float"}:
        floating = "float" in kinds or name == "Divide"
        sample = None if floating else sampled(name, a, b)
        return PythonValue("float" if floating else "int", shape=from_shape(a, b), sample=sample)
    return PythonValue("object") if "object" not in kinds else UNKNOWN


def _fold(name: str, a: Any, b: Any) -> Value:
    """The result of an operator on two constants, where computing it is quick and takes little memory."""
    if isinstance(a, _SAFE) and isinstance(b, _SAFE) and name in ARITHMETIC:
        if name in ("Power", "LeftShift", "Multiply") and not (_small(a) and _small(b)):
            return PythonValue(type(a).__name__)
        try:
            return Const(ARITHMETIC[name](a, b))
        except (ArithmeticError, TypeError, ValueError):
            return UNKNOWN
    return UNKNOWN


def _small(value: Any) -> bool:
    return not isinstance(value, str) and (isinstance(value, float) or value is None or abs(value) < 10_000)


def _is_display(node: cst.CSTNode) -> bool:
    """Whether an operand is a list display: another operand that may be a list may also be a tensor."""
    return type(node) is cst.BinaryOperation and any(type(o) in (cst.List, cst.Tuple) for o in (node.left, node.right))


def _repeated(interpreter: Interpreter, node: cst.CSTNode, a: Value, b: Value) -> Value:
    """``[x] * tensor``: the tensor is the number of copies; numpy multiplies each element."""
    sequence, count = (a, b) if isinstance(a, Seq) else (b, a)
    if not isinstance(sequence, Seq) or not isinstance(count, Tensor) or count.numpy:
        return Tensor(numpy=True)
    interpreter.emit(Convert, node, value=count, to="repeat", how="*")
    return containers.with_sequence("Multiply", sequence, PythonValue("int"))


def _is_of_object(method: str, left: Value, right: Value) -> bool:
    """Whether an operator surely has a tensor on one side, and on the other an object whose class defines it."""
    found, other, name = (right, left, f"r{method}") if isinstance(left, Tensor) else (left, right, method)
    objects = all(isinstance(part, Instance) and part.info.lookup(f"__{name}__") for part in options(found))
    return isinstance(other, Tensor) and objects


def _with_object(interpreter: Interpreter, node: cst.CSTNode, name: str, a: Value, b: Value) -> Value:
    """``a <name> b`` by the special method of an object of the scanned code."""
    if (method := DUNDERS.get(name)) is not None:
        if isinstance(a, Instance) and a.info.lookup(f"__{method}__") is not None:
            return calls.call_method(interpreter, node, a, f"__{method}__", (b,))
        if isinstance(b, Instance) and b.info.lookup(f"__r{method}__") is not None:
            return calls.call_method(interpreter, node, b, f"__r{method}__", (a,))
    if any(isinstance(operand, Instance) and operand.info.is_tensor for operand in (a, b)):
        return Tensor()
    return UNKNOWN


def sampled(name: str, a: Value, b: Value) -> int | None:
    """What an operator gives for the sample of the file; None where that is not known."""
    values = [v.value if isinstance(v, Const) else v.sample if isinstance(v, PythonValue) else None for v in (a, b)]
    texts = name in COMPARISONS and all(isinstance(v, str) for v in values)
    if not texts and not all(isinstance(v, int) for v in values):
        return None
    found = (_fold if name in ARITHMETIC else ordered)(name, *values)
    return int(found.value) if isinstance(found, Const) and isinstance(found.value, int) else None


def ordered(name: str, a: Any, b: Any) -> Value:
    """The result of a comparison of two constants."""
    try:
        return Const(bool(COMPARISONS[name](a, b)))
    except TypeError:
        return UNKNOWN


def kind(value: Value) -> str:
    """The name of the type of a plain value, else ``object``."""
    if isinstance(value, Const):
        return type(value.value).__name__
    return value.kind if isinstance(value, PythonValue) else "object"


def from_shape(*values: Value) -> bool:
    """Whether one of ``values`` is a size."""
    return any(isinstance(value, PythonValue) and value.shape for value in values)


def _dtype(name: str, a: Value, b: Value) -> str | None:
    dtypes = [v.dtype if isinstance(v, Tensor) else kind(v) for v in (a, b)]
    if name in ("BitAnd", "BitOr", "BitXor"):
        if isinstance(a, Unknown) or isinstance(b, Unknown):
            # The other operand of ``&`` is a mask too: in practice masks are not combined with integers.
            return "bool" if "bool" in dtypes else None
        return "bool" if all(d == "bool" for d in dtypes) else "int" if set(dtypes) <= {"int", "bool"} else None
    if name == "Divide":
        return "float"
    if "float" in dtypes:
        return "float"
    if set(dtypes) <= {"int", "bool"} and "int" in dtypes:
        return "int"
    if name in ("Add", "Multiply") and dtypes == ["bool", "bool"]:
        return "bool"
    return "float" if set(dtypes) <= {"float", "int", "bool"} and "float" in dtypes else None


def negate(node: cst.UnaryOperation, value: Value) -> Value:
    """``-x``, ``+x``, ``~x``."""
    results: list[Value] = []
    for option in options(value):
        if isinstance(option, Tensor):
            results.append(Tensor(option.dtype, option.ndim, numpy=option.numpy, is_known=option.is_known))
        elif isinstance(option, Const) and isinstance(option.value, (int, float)):
            minus = isinstance(node.operator, cst.Minus)
            results.append(Const(-option.value) if minus else option if not minus else UNKNOWN)
        else:
            results.append(option if isinstance(option, PythonValue) else UNKNOWN)
    return join(*results)
