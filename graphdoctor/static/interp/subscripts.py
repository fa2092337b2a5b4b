"""Reading ``x[i]``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from graphdoctor.static.domain.events import Convert, ReadItem, Subscript
from graphdoctor.static.domain.torch_tables import NUMPY_INDEXED
from graphdoctor.static.domain.value_functions import is_read, is_text, join, may_be_tensor, options
from graphdoctor.static.domain.values import (
    CHILDREN,
    UNKNOWN,
    Class,
    Const,
    External,
    ExternalObject,
    Instance,
    Mapping,
    NameOf,
    PythonValue,
    Seq,
    SkippedDefault,
    Tensor,
    TorchModule,
    TypeAlias,
    Unknown,
    Value,
)
from graphdoctor.static.interp import calls, compound_statements, definitions, objects
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.interp.operators import arithmetic
from graphdoctor.static.library_models import unknown_numbers


def read_item(interpreter: Interpreter, node: cst.Subscript, receiver: Value, index: tuple[Value, ...]) -> Value:
    """The value of ``receiver[index]``. Emits ``Subscript`` on tensors and ``Convert`` for a tensor index of a list."""
    arithmetic.use(interpreter, node, receiver, "[]")
    if may_be_tensor(receiver):
        interpreter.emit(Subscript, node, receiver=receiver, index=index, mode="load")
    if not isinstance(receiver, Instance):
        for value in index:
            unknown_numbers.need(interpreter, node, value)
    return join(*(_item(interpreter, node, option, index) for option in options(receiver)))


def _item(interpreter: Interpreter, node: cst.Subscript, receiver: Value, index: tuple[Value, ...]) -> Value:
    first = index[0] if index else UNKNOWN
    return _READERS.get(type(receiver), _other_item)(interpreter, node, receiver, first, index)


def _other_item(
    interpreter: Interpreter, node: cst.Subscript, receiver: Value, _first: Value, index: tuple[Value, ...]
) -> Value:
    """An item of an unknown value. An item of numbers that were read from data is such a number.

    Emits ``Subscript`` where the index may be a mask.
    """
    is_open = isinstance(receiver, (Unknown, ExternalObject))
    if is_open and any(isinstance(i, Tensor) for i in index):
        # A value that is indexed by a mask is a tensor, an array, or an object that passes the mask on to one.
        interpreter.emit(Subscript, node, receiver=receiver, index=index, mode="load")
    return receiver if is_read(receiver) else UNKNOWN


def _tensor_item(
    interpreter: Interpreter, _node: cst.Subscript, receiver: Tensor, first: Value, index: tuple[Value, ...]
) -> Value:
    if is_text(first):
        # The value is no tensor, as was assumed, but a mapping or a numpy array of records.
        return UNKNOWN
    return Tensor(
        receiver.dtype,
        _ndim(receiver, index),
        numpy=receiver.numpy,
        is_known=receiver.is_known,
        sparse=receiver.sparse,
        unbacked=_unbacked(interpreter, receiver, first),
        subclass=receiver.subclass,
    )


def _skipped_item(
    interpreter: Interpreter, node: cst.Subscript, receiver: SkippedDefault, _first: Value, index: tuple[Value, ...]
) -> Value:
    if interpreter.first_uses.of_default(receiver, interpreter.frame):
        interpreter.emit(Subscript, node, receiver=receiver, index=index, mode="load")
    return UNKNOWN


def _mapping_item(
    interpreter: Interpreter, _node: cst.Subscript, receiver: Mapping, first: Value, _index: tuple[Value, ...]
) -> Value:
    if isinstance(first, Const):
        found = receiver.get(first.value)
        if found is None:
            compound_statements.fail(interpreter, External("builtins.KeyError"))
        return found or UNKNOWN
    named = [receiver.get(option.value) for option in options(first) if isinstance(option, Const)]
    known = [value for value in named if value is not None]
    found = _any_value(receiver, first)
    # With too many values the result is unknown; the default key still has its own value.
    return join(*known) if known and isinstance(found, Unknown) else found


def _any_value(mapping: Mapping, key: Value) -> Value:
    """The values of all keys that ``key`` may be: for ``f"layer_{i}"``, those that begin with ``layer_``."""
    ends = key.affixes if isinstance(key, PythonValue) else None
    named = [
        value
        for name, value in mapping.items
        if ends is None or (isinstance(name, str) and name.startswith(ends[0]) and name.endswith(ends[1]))
    ]
    values = [*named, mapping.rest] if mapping.rest is not None else named
    return join(*values) if values else UNKNOWN


def _instance_item(
    interpreter: Interpreter, node: cst.Subscript, receiver: Instance, first: Value, index: tuple[Value, ...]
) -> Value:
    """An item of an object of scanned code: ``__getitem__``, a child of a container, or a field."""
    if receiver.info.lookup("__getitem__") is not None:
        argument = join(*index) if len(index) == 1 else Seq("tuple", index)
        return calls.call_method(interpreter, node, receiver, "__getitem__", (argument,))
    children = receiver.attrs.get(CHILDREN)
    if children is not None:
        return _child(interpreter, node, TorchModule("torch.nn.ModuleList", children), first)
    if receiver.info.fields and isinstance(first, Const):
        values = objects.field_values(interpreter, receiver)
        if isinstance(first.value, int) and first.value < len(values):
            return values[first.value] if receiver.info.derives("typing.NamedTuple") else join(*values)
        if isinstance(first.value, str):
            return receiver.attrs.get(first.value, UNKNOWN)
    return UNKNOWN


def _type_item(
    interpreter: Interpreter, node: cst.Subscript, receiver: External | Class, _first: Value, index: tuple[Value, ...]
) -> Value:
    """A type with type arguments, which is taken for the type; a union keeps its alternatives for annotations."""
    interpreter.emit(ReadItem, node, receiver=receiver, index=index)
    if isinstance(receiver, External) and receiver.qualname in ("typing.Union", "typing.Optional"):
        return TypeAlias(definitions.annotation(interpreter, node))
    return UNKNOWN if isinstance(receiver, External) and receiver.qualname in NUMPY_INDEXED else receiver


def _python_item(
    interpreter: Interpreter, node: cst.Subscript, receiver: PythonValue, first: Value, index: tuple[Value, ...]
) -> Value:
    if receiver.kind == "size":
        return PythonValue("size") if isinstance(first, ExternalObject) else PythonValue("int", shape=True)
    return _other_item(interpreter, node, receiver, first, index)


def _unbacked(interpreter: Interpreter, receiver: Tensor, first: Value) -> bool:
    """Whether the number of rows of ``receiver[first, ...]`` is data-dependent: selected by a mask, or kept."""
    mask = isinstance(first, Tensor) and first.dtype == "bool" and interpreter.frame.compiled
    return mask or (receiver.unbacked and isinstance(first, ExternalObject))


def _child(interpreter: Interpreter, node: cst.Subscript, receiver: TorchModule, first: Value) -> Value:
    children = receiver.children
    if isinstance(children, Seq):
        if isinstance(first, ExternalObject):
            return TorchModule(receiver.qualname, Seq("list", None, join(*(children.items or (children.element,)))))
        return sequence_item(interpreter, node, children, first)
    if isinstance(children, Mapping):
        return children.get(first.value) or UNKNOWN if isinstance(first, Const) else _any_value(children, first)
    return UNKNOWN


def sequence_item(interpreter: Interpreter, node: cst.CSTNode, receiver: Value, first: Value) -> Value:
    """The item ``first``, an index or a slice, of a sequence."""
    if not isinstance(receiver, Seq):
        return UNKNOWN
    if may_be_tensor(first):
        interpreter.emit(Convert, node, value=first, to="index", how="list index")
    if isinstance(first, ExternalObject) and first.qualname == "builtins.slice":
        part = node.slice[0].slice if isinstance(node, cst.Subscript) else None
        if receiver.items is not None and isinstance(part, cst.Slice):
            bounds = [_literal(b) for b in (part.lower, part.upper, part.step)]
            if all(b is None or isinstance(b, int) for b in bounds):
                return Seq(receiver.kind, receiver.items[slice(*bounds)])
        return Seq(receiver.kind, None, join(*receiver.items) if receiver.items else receiver.element)
    if receiver.items is not None:
        if (
            isinstance(first, Const)
            and isinstance(first.value, int)
            and -len(receiver.items) <= first.value < len(receiver.items)
        ):
            return receiver.items[first.value]
        if receiver.kind == "tuple" and isinstance(first, Const) and isinstance(first.value, int):
            # It has more elements than its annotation says, so this one is unknown.
            return UNKNOWN
        return join(*receiver.items) if receiver.items else UNKNOWN
    return receiver.element


def _literal(node: cst.BaseExpression | None) -> Any:
    if node is None:
        return None
    if isinstance(node, cst.Integer):
        return node.evaluated_value
    if (
        isinstance(node, cst.UnaryOperation)
        and isinstance(node.operator, cst.Minus)
        and isinstance(node.expression, cst.Integer)
    ):
        return -node.expression.evaluated_value
    return ...


def _ndim(receiver: Tensor, index: tuple[Value, ...]) -> int | None:
    if receiver.ndim is None:
        return None
    ndim = receiver.ndim
    for part in index:
        if isinstance(part, (Const, PythonValue)) and not (isinstance(part, Const) and part.value in (None, ...)):
            ndim -= 1
        elif isinstance(part, Const) and part.value is None:
            ndim += 1
        elif len(index) == 1 and isinstance(part, Tensor) and part.dtype == "bool" and part.ndim:
            # The sizes that a mask selects from become one.
            ndim -= part.ndim - 1
        elif not isinstance(part, (ExternalObject, Const)):
            return None
    return max(ndim, 0)


#: How an item of a value is read, by its class.
_READERS: dict[type[Value], Callable[[Interpreter, cst.Subscript, Any, Value, tuple[Value, ...]], Value]] = {
    Tensor: _tensor_item,
    SkippedDefault: _skipped_item,
    # ``x[:, 0]`` of a list or a tuple raises: where the code gets here, the value is another one.
    Seq: lambda interpreter, node, receiver, first, index: (
        sequence_item(interpreter, node, receiver, first) if len(index) < 2 else UNKNOWN
    ),
    Mapping: _mapping_item,
    TorchModule: lambda interpreter, node, receiver, first, _index: _child(interpreter, node, receiver, first),
    Instance: _instance_item,
    Const: lambda _interpreter, _node, receiver, _first, _index: (
        PythonValue("str") if isinstance(receiver.value, str) else UNKNOWN
    ),
    External: _type_item,
    Class: _type_item,
    PythonValue: _python_item,
    NameOf: _python_item,
}
