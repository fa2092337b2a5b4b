"""Comparisons of abstract values: their order, whether they are the same object, and membership."""

from __future__ import annotations

import libcst as cst

from graphdoctor.static.domain import torch_versions
from graphdoctor.static.domain.events import Call, Specialise, Truth
from graphdoctor.static.domain.torch_tables import ASKED_FOR_PARAMETERS, PARAMETERS
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
from graphdoctor.static.interp.operators import devices
from graphdoctor.static.interp.operators.arithmetic import (
    COMPARISONS,
    from_shape,
    kind,
    ordered,
    sampled,
    tensor_result,
    use,
)
from graphdoctor.static.library_models import unknown_numbers


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
        if isinstance(other, (Mapping, Instance)) or kind(other) in ("str", "dtype", "device"):
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
        found = ordered(name, a.value, b.value)
        return Const(found.value, chosen_by=a.chosen_by or b.chosen_by) if type(found) is Const else found
    if name in ("Equal", "NotEqual") and (devices.is_rare(a, (b,)) or devices.is_rare(b, (a,))):
        return PythonValue("bool", sample=int(name == "NotEqual"))
    newer = torch_versions.compared(name, a, b)
    if newer is not None:
        return Const(newer)
    if isinstance(a, Seq) and isinstance(b, Seq):
        tensor = _first_compared(name, a, b)
        if tensor is not None:
            interpreter.emit(Truth, node, value=tensor, context="call", branch=None)
    if (is_read(a) or is_read(b)) and {kind(a), kind(b)}.isdisjoint(("NoneType", "str")):
        return PythonValue("bool", data_dependent=True)
    if (isinstance(a, Unknown) or isinstance(b, Unknown)) and "str" not in (kind(a), kind(b)):
        return UNKNOWN
    drawn = is_drawn(a) or is_drawn(b)
    return PythonValue("bool", shape=from_shape(a, b), sample=sampled(name, a, b), drawn=drawn)


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
    if Const(None) not in (a, b) and any(isinstance(o, Instance) and o.info.is_tensor for o in (a, b)):
        return Tensor("bool")
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
    if type(right) is External and PARAMETERS.fullmatch(right.qualname):
        interpreter.emit(Call, node, qualname=ASKED_FOR_PARAMETERS, args=(left,), kwargs={})
    negative = any(isinstance(c.operator, cst.NotIn) for c in node.comparisons)
    found = _is_in(left, right)
    if found is not None:
        return Const(found is not negative)
    if right == External("os.environ"):
        return PythonValue("bool", sample=int(negative))
    items = right.items if isinstance(right, Seq) else None
    if items and devices.is_rare(left, items):
        return PythonValue("bool", sample=int(negative))
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
