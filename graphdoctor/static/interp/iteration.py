"""Iteration: the items that a ``for`` or an unpacking takes from a value."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from graphdoctor.static.domain.events import Build, Iterate
from graphdoctor.static.domain.value_functions import join, options
from graphdoctor.static.domain.values import (
    CHILDREN,
    UNKNOWN,
    Const,
    ExternalObject,
    Instance,
    Mapping,
    PythonValue,
    Seq,
    Tensor,
    TorchModule,
    Value,
)
from graphdoctor.static.interp import calls, expressions, objects
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.syntax.walk import walk

#: The items where all are known, else None; and one value that stands for any item.
Items = tuple[list[Value] | None, Value]


def elements(interpreter: Interpreter, node: cst.CSTNode | None, value: Value, count: int | None = None) -> Items:
    """The items of ``value``; ``count`` is the number that an unpacking needs."""
    found = [_elements(interpreter, node, option, count) for option in options(value)]
    if len(found) == 1:
        return found[0]
    lengths = {len(items) if items is not None else -1 for items, _ in found}
    if len(lengths) == 1 and -1 not in lengths:
        rows = [items for items, _ in found if items is not None]
        return [join(*column) for column in zip(*rows, strict=True)], join(*(e for _, e in found))
    return None, join(*(e for _, e in found))


def _elements(interpreter: Interpreter, node: cst.CSTNode | None, value: Value, count: int | None) -> Items:
    if isinstance(value, Seq):
        if value.items is not None:
            return list(value.items), join(*value.items) if value.items else UNKNOWN
        if count is not None:
            return [value.element] * count, value.element
        return None, value.element
    if isinstance(value, Mapping):
        keys: list[Value] = [Const(k) for k, _ in value.items]
        return (keys, join(*keys) if keys else UNKNOWN) if value.rest is None else (None, PythonValue("str"))
    if isinstance(value, Tensor):
        return _rows(interpreter, node, value, count)
    if isinstance(value, TorchModule) and value.children is not None:
        return _elements(interpreter, node, value.children, count)
    if isinstance(value, Instance):
        if value.info.lookup("__iter__") is not None and node is not None:
            return elements(interpreter, None, calls.call_method(interpreter, node, value, "__iter__", ()))
        inner = value.attrs.get(CHILDREN)
        if inner is not None:
            return _elements(interpreter, node, inner, count)
        if value.info.fields and value.info.derives("typing.NamedTuple", "collections.namedtuple"):
            fields = objects.field_values(interpreter, value)
            return fields, join(*fields)
    if isinstance(value, ExternalObject) and value.shown is not None:
        return elements(interpreter, node, value.shown, count)
    if isinstance(value, PythonValue) and value.kind == "size":
        return None, PythonValue("int", shape=True)
    if isinstance(value, Const) and isinstance(value.value, str):
        return None, PythonValue("str")
    if isinstance(value, PythonValue) and value.data_dependent:
        return None if count is None else [value] * count, value
    # Whatever is unpacked has that many elements.
    return None if count is None else [UNKNOWN] * count, UNKNOWN


def _rows(interpreter: Interpreter, node: cst.CSTNode | None, tensor: Tensor, count: int | None) -> Items:
    """The rows of a tensor. Emits ``Iterate`` where data decides how many there are."""
    if tensor.unbacked and node is not None and count is None:
        interpreter.emit(Iterate, node, value=tensor)
    if count is None and tensor.argument and not tensor.is_known:
        # An unknown argument was taken for a tensor, but most arguments that a loop iterates are lists.
        return None, UNKNOWN
    ndim = None if tensor.ndim is None else max(tensor.ndim - 1, 0)
    row = Tensor(tensor.dtype, ndim, numpy=tensor.numpy, is_known=tensor.is_known)
    return None if count is None else [row] * count, row


def loaders(interpreter: Interpreter, loops: tuple[cst.For | cst.While, ...]) -> tuple[Build, ...]:
    """The data loaders that ``loops`` iterate, directly or through ``enumerate`` and the like."""
    found: list[Build] = []
    for loop in loops:
        if type(loop) is cst.For:
            with interpreter.path(muted=True):
                named = (n for n in walk(loop.iter) if type(n) is cst.Name or type(n) is cst.Call)
                values = [expressions.evaluate(interpreter, node) for node in named]
            # Loaders that the ``for`` statement makes itself, which it did before the loop began.
            made = (interpreter.library_objects.made_at(node) for node in walk(loop.iter))
            values += [value for value in made if value is not None]
            built = [interpreter.library_objects.construction(option) for value in values for option in options(value)]
            found += [b for b in built if b is not None and b.qualname.rpartition(".")[2] == "DataLoader"]
    return tuple(replace(b, args=tuple(_data(interpreter, a) for a in b.args)) for b in found)


def _data(interpreter: Interpreter, value: Value) -> Value:
    """The tensor in a ``TensorDataset``, else ``value``."""
    made = interpreter.library_objects.construction(value)
    return made.args[0] if made is not None and made.args and made.qualname.endswith(".TensorDataset") else value
