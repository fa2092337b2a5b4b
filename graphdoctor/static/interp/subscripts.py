"""Reading ``x[i]``."""

from __future__ import annotations

from typing import Any

import libcst as cst

from graphdoctor.static.domain.events import Convert, Subscript
from graphdoctor.static.domain.value_functions import is_read, join, may_be_tensor, options
from graphdoctor.static.domain.values import (
    UNKNOWN,
    Class,
    Const,
    External,
    ExternalObject,
    Instance,
    Mapping,
    Promise,
    PythonValue,
    Seq,
    SkippedDefault,
    Tensor,
    TorchModule,
    Value,
)
from graphdoctor.static.interp import calls, compound_statements, definitions, operators
from graphdoctor.static.interp.interpreter import Interpreter


def read_item(interpreter: Interpreter, node: cst.Subscript, receiver: Value, index: tuple[Value, ...]) -> Value:
    """The value of ``receiver[index]``. Emits ``Subscript`` on tensors and ``Convert`` for a tensor index of a list."""
    operators.use(interpreter, node, receiver, "[]")
    if may_be_tensor(receiver):
        interpreter.emit(Subscript, node, receiver=receiver, index=index, mode="load")
    return join(*(_item(interpreter, node, option, index) for option in options(receiver)))


def _item(interpreter: Interpreter, node: cst.Subscript, receiver: Value, index: tuple[Value, ...]) -> Value:
    first = index[0] if index else UNKNOWN
    if isinstance(receiver, Tensor):
        return Tensor(
            receiver.dtype,
            _ndim(receiver, index),
            numpy=receiver.numpy,
            is_known=receiver.is_known,
            sparse=receiver.sparse,
            unbacked=_unbacked(interpreter, receiver, first),
        )
    if isinstance(receiver, SkippedDefault):
        if interpreter.is_first_use(receiver):
            interpreter.emit(Subscript, node, receiver=receiver, index=index, mode="load")
        return UNKNOWN
    if isinstance(receiver, Seq):
        return sequence_item(interpreter, node, receiver, first)
    if isinstance(receiver, Mapping):
        if isinstance(first, Const):
            found = receiver.get(first.value)
            if found is None:
                compound_statements.fail(interpreter, External("builtins.KeyError"))
            return found or UNKNOWN
        values = [v for _, v in receiver.items] + ([receiver.rest] if receiver.rest is not None else [])
        return join(*values) if values else UNKNOWN
    if isinstance(receiver, TorchModule) and receiver.children is not None:
        return _child(interpreter, node, receiver, first)
    if isinstance(receiver, Instance):
        if receiver.info.lookup("__getitem__") is not None:
            return calls.call_method(
                interpreter, node, receiver, "__getitem__", (join(*index) if len(index) == 1 else Seq("tuple", index),)
            )
        children = receiver.attrs.get("#children")
        if children is not None:
            return _child(interpreter, node, TorchModule("torch.nn.ModuleList", children), first)
        if receiver.info.fields:
            values = [receiver.attrs.get(f, UNKNOWN) for f in receiver.info.fields]
            if isinstance(first, Const) and isinstance(first.value, int) and first.value < len(values):
                return values[first.value] if receiver.info.derives("typing.NamedTuple") else join(*values)
            if isinstance(first, Const) and isinstance(first.value, str):
                return receiver.attrs.get(first.value, UNKNOWN)
    if isinstance(receiver, Const) and isinstance(receiver.value, str):
        return PythonValue("str")
    if isinstance(receiver, External) and receiver.qualname in ("typing.Union", "typing.Optional"):
        return Promise(definitions.annotation(interpreter, node))
    if isinstance(receiver, (External, Class)):
        return receiver
    if isinstance(receiver, PythonValue) and receiver.kind == "size":
        return PythonValue("size") if isinstance(first, ExternalObject) else PythonValue("int", shape=True)
    return receiver if is_read(receiver) else UNKNOWN


def _unbacked(interpreter: Interpreter, receiver: Tensor, first: Value) -> bool:
    """Whether data says how many rows ``receiver[first, ...]`` has: a mask selects them, or all rows are kept."""
    mask = isinstance(first, Tensor) and first.dtype == "bool" and interpreter.frame.compiled
    return mask or (receiver.unbacked and isinstance(first, ExternalObject))


def _child(interpreter: Interpreter, node: cst.Subscript, receiver: TorchModule, first: Value) -> Value:
    children = receiver.children
    if isinstance(children, Seq):
        if isinstance(first, ExternalObject):
            return TorchModule(receiver.qualname, Seq("list", None, join(*(children.items or (children.element,)))))
        return sequence_item(interpreter, node, children, first)
    if isinstance(children, Mapping):
        if isinstance(first, Const):
            return children.get(first.value) or UNKNOWN
        values = [v for _, v in children.items] + ([children.rest] if children.rest is not None else [])
        return join(*values) if values else UNKNOWN
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
