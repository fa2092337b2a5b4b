"""Arithmetic and comparison operators on abstract values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import libcst as cst

from graphdoctor.static.domain import torch_versions
from graphdoctor.static.domain.events import Call, Convert, Decide, Specialise, Truth
from graphdoctor.static.domain.torch_tables import DUNDERS
from graphdoctor.static.domain.value_functions import (
    holds_tensor,
    is_drawn,
    is_read,
    is_sure_tensor,
    is_text,
    join,
    may_be_tensor,
    options,
)
from graphdoctor.static.domain.values import (
    UNKNOWN,
    Const,
    External,
    Instance,
    LazyText,
    Mapping,
    NameOf,
    PythonValue,
    Seq,
    Tensor,
    Unknown,
    Value,
)
from graphdoctor.static.interp import calls, expressions
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
    container = containers.combined(name, a, b)
    if container is not None:
        return container
    if read:
        whole = {_kind(a), _kind(b)} <= {"int", "bool"} and name not in ("Divide", "Power")
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
    is_input = found.numpy and found.constant and not interpreter.frame.compiled
    return replace(found, argument=True) if is_input else found


def _with_plain_values(name: str, a: Value, b: Value) -> Value:
    """``a <name> b`` of numbers and strings, at least one of which is not known."""
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return UNKNOWN
    kinds = {_kind(a), _kind(b)}
    if "str" in kinds:
        return strings.joined(Const(""), (a, b)) if name == "Add" else PythonValue("str")
    if kinds <= {"int", "bool", "float"}:
        floating = "float" in kinds or name == "Divide"
        sample = None if floating else _sampled(name, a, b)
        return PythonValue("float" if floating else "int", shape=_from_shape(a, b), sample=sample)
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
    return UNKNOWN


def _sampled(name: str, a: Value, b: Value) -> int | None:
    """What an operator gives for the sample of the file; None where that is not known."""
    values = [v.value if isinstance(v, Const) else v.sample if isinstance(v, PythonValue) else None for v in (a, b)]
    texts = name in COMPARISONS and all(isinstance(v, str) for v in values)
    if not texts and not all(isinstance(v, int) for v in values):
        return None
    found = (_fold if name in ARITHMETIC else _ordered)(name, *values)
    return int(found.value) if isinstance(found, Const) and isinstance(found.value, int) else None


def _ordered(name: str, a: Any, b: Any) -> Value:
    try:
        return Const(bool(COMPARISONS[name](a, b)))
    except TypeError:
        return UNKNOWN


def _kind(value: Value) -> str:
    if isinstance(value, Const):
        return type(value.value).__name__
    return value.kind if isinstance(value, PythonValue) else "object"


def _from_shape(*values: Value) -> bool:
    return any(isinstance(value, PythonValue) and value.shape for value in values)


def _dtype(name: str, a: Value, b: Value) -> str | None:
    dtypes = [v.dtype if isinstance(v, Tensor) else _kind(v) for v in (a, b)]
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


def compare(interpreter: Interpreter, node: cst.Comparison, name: str, left: Value, right: Value) -> Value:
    """``left <name> right`` for the libcst comparison class ``name``."""
    if name in ("Is", "IsNot"):
        return _identity(left, right, name == "Is")
    unknown_numbers.need_in_comparison(interpreter, node, name, left, right)
    if name in ("In", "NotIn"):
        use(interpreter, node, right, "in")
        return _contains(interpreter, node, left, right)
    use(interpreter, node, left, "==")
    use(interpreter, node, right, "==")
    if interpreter.region_facts.has_dynamic_sizes and name in ("Equal", "NotEqual") and _size_and_number(left, right):
        interpreter.emit(Specialise, node, how="compare")
    results: list[Value] = []
    for a in options(left):
        for b in options(right):
            results.append(_compare(interpreter, node, name, a, b))
    return join(*results)


def _compare(interpreter: Interpreter, node: cst.Comparison, name: str, a: Value, b: Value) -> Value:
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        other = b if isinstance(a, Tensor) else a
        if isinstance(other, (Mapping, Instance)) or _kind(other) in ("str", "dtype", "device"):
            return PythonValue("bool")
        if isinstance(other, Seq) and not any(isinstance(v, Tensor) and v.numpy for v in (a, b)):
            # A tensor is no list, whatever it holds, while an array of numpy is compared item by item.
            return PythonValue("bool")
        if other == Const(None):
            # A field that is None by default is set where it is compared with a tensor: ``ids == config.image_token``.
            literal = any(isinstance(n, cst.Name) and n.value == "None" for n in _operands(node))
            if not literal:
                return Tensor("bool", is_known=False)
            array = any(isinstance(v, Tensor) and (v.numpy or not v.is_known) for v in (a, b))
            return PythonValue("bool") if array else _unequal(name)
        return tensor_result(a if isinstance(a, Tensor) else None, b if isinstance(b, Tensor) else None, "bool")
    if Const(None) in (a, b) and any(isinstance(v, (Mapping, Seq)) for v in (a, b)):
        return _unequal(name)
    if isinstance(a, Instance) or isinstance(b, Instance):
        return _compare_objects(interpreter, node, name, a, b)
    if isinstance(a, Const) and isinstance(b, Const) and name in COMPARISONS:
        return _ordered(name, a.value, b.value)
    newer = torch_versions.compared(name, a, b)
    if newer is not None:
        return Const(newer)
    if isinstance(a, Seq) and isinstance(b, Seq):
        tensor = _first_compared(name, a, b)
        if tensor is not None:
            interpreter.emit(Truth, node, value=tensor, context="call", branch=None)
    if (is_read(a) or is_read(b)) and {_kind(a), _kind(b)}.isdisjoint(("NoneType", "str")):
        return PythonValue("bool", data_dependent=True)
    if (isinstance(a, Unknown) or isinstance(b, Unknown)) and "str" not in (_kind(a), _kind(b)):
        return UNKNOWN
    drawn = is_drawn(a) or is_drawn(b)
    return PythonValue("bool", shape=_from_shape(a, b), sample=_sampled(name, a, b), drawn=drawn)


def _unequal(name: str) -> Value:
    """What the comparison gives of things that are never equal, and have no order."""
    return Const(name == "NotEqual") if name in ("Equal", "NotEqual") else UNKNOWN


def _operands(node: cst.Comparison) -> tuple[cst.BaseExpression, ...]:
    return (node.left, *(target.comparator for target in node.comparisons))


#: The special method of each comparison, and the one of the right operand that stands in for it.
_COMPARISON_METHODS = {
    "Equal": ("eq", "eq"), "NotEqual": ("ne", "ne"), "LessThan": ("lt", "gt"), "LessThanEqual": ("le", "ge"),
    "GreaterThan": ("gt", "lt"), "GreaterThanEqual": ("ge", "le"),
}  # fmt: skip


def _size_and_number(left: Value, right: Value) -> bool:
    values = (left, right)
    return any(isinstance(v, PythonValue) and v.shape for v in values) and any(isinstance(v, Const) for v in values)


def _first_compared(name: str, a: Seq, b: Seq) -> Value | None:
    """The tensor whose comparison must be a bool when two sequences are compared, element by element."""
    if a.items == () or b.items == ():
        return None
    if name in ("Equal", "NotEqual") and a.items and b.items and len(a.items) != len(b.items):
        return None
    if a.items is None or b.items is None:
        return next((v for v in (a.element, b.element, *(a.items or ()), *(b.items or ())) if may_be_tensor(v)), None)
    for left, right in zip(a.items, b.items, strict=False):
        if left is right or (isinstance(left, Const) and left == right):
            continue
        if isinstance(left, Const) and isinstance(right, Const):
            return None
        if may_be_tensor(left) or may_be_tensor(right):
            return left if may_be_tensor(left) else right
    return None


def _compare_objects(interpreter: Interpreter, node: cst.Comparison, name: str, a: Value, b: Value) -> Value:
    """A comparison by the special method of an object of the scanned code."""
    method, mirrored = _COMPARISON_METHODS[name]
    if isinstance(a, Instance) and a.info.lookup(f"__{method}__") is not None:
        return calls.call_method(interpreter, node, a, f"__{method}__", (b,))
    if isinstance(b, Instance) and b.info.lookup(f"__{mirrored}__") is not None:
        return calls.call_method(interpreter, node, b, f"__{mirrored}__", (a,))
    return PythonValue("bool")


def _identity(left: Value, right: Value, positive: bool) -> Value:
    """``left is right``, or ``left is not right`` where not ``positive``."""
    verdicts = {_same(a, b) for a in options(left) for b in options(right)}
    verdict = verdicts.pop() if len(verdicts) == 1 else None
    return PythonValue("bool") if verdict is None else Const(verdict is positive)


def _same(a: Value, b: Value) -> bool | None:
    """Whether both are the same object; None where that is not known."""
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return None
    if isinstance(a, Const) and isinstance(b, Const):
        if a.value is None or b.value is None or isinstance(a.value, bool) or isinstance(b.value, bool):
            return a.value is b.value
        return None
    if a == Const(None) or b == Const(None):
        other = b if a == Const(None) else a
        # A variable of the environment may be unset.
        is_open = isinstance(other, PythonValue) and (other.kind == "object" or other.sample == "")
        return None if is_open else False
    if isinstance(a, Instance) and isinstance(b, Instance):
        return True if a is b else None
    return None


def _contains(interpreter: Interpreter, node: cst.Comparison, left: Value, right: Value) -> Value:
    if may_be_tensor(right):
        # A string is looked up in a mapping, and so are most values that are no tensors, or in a list (`if i in
        # out_indices`): the container was only assumed to be a tensor.
        if not is_text(left) and (may_be_tensor(left) or is_sure_tensor(right)):
            interpreter.emit(Truth, node, value=right, context="in", branch=None)
        return PythonValue("bool")
    for option in options(right):
        _look_through(interpreter, node, left, option)
    negative = any(isinstance(c.operator, cst.NotIn) for c in node.comparisons)
    found = _is_in(left, right)
    if found is not None:
        return Const(found is not negative)
    if right == External("os.environ"):
        return PythonValue("bool", sample=int(negative))
    items = right.items if isinstance(right, Seq) else None
    if isinstance(left, PythonValue) and isinstance(left.sample, str) and items is not None:
        return PythonValue("bool", sample=int((Const(left.sample) in items) is not negative))
    return PythonValue("bool")


def _look_through(interpreter: Interpreter, node: cst.Comparison, left: Value, container: Value) -> None:
    """Emit what looking for ``left`` in ``container`` does."""
    if isinstance(container, Instance) and container.info.lookup("__contains__") is not None:
        answer = calls.call_method(interpreter, node, container, "__contains__", (left,))
        expressions.truth(interpreter, node, answer, "in")
    if isinstance(container, Seq) and container.kind in ("list", "tuple") and isinstance(left, Tensor):
        # The tensor is compared with each item.
        has_number = any(isinstance(i, Const) and type(i.value) in (int, float) for i in container.items or ())
        if may_be_tensor(left) and (has_number or holds_tensor(container)):
            interpreter.emit(Truth, node, value=left, context="in", branch=None)


def _is_in(left: Value, container: Value) -> bool | None:
    """Whether ``left`` is in ``container``; None where the source does not show it."""
    if isinstance(container, Mapping) and container.rest is None:
        keys = tuple(key for key, _ in container.items)
        if isinstance(left, NameOf) and left.info is not None:
            return left.info.is_one_of(keys)
        if isinstance(left, Const):
            return any(type(key) is type(left.value) and key == left.value for key in keys)
        return None
    items = container.items if isinstance(container, Seq) else None
    if isinstance(left, Const) and items is not None and all(isinstance(i, Const) for i in items):
        return left in items
    return None
