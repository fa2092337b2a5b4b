"""Assignments: binding names, attributes, items and what is unpacked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import libcst as cst

from graphdoctor.static.domain.events import SetAttr, SetItem, Subscript
from graphdoctor.static.domain.value_functions import join, may_be_tensor, options, widen_numbers
from graphdoctor.static.domain.values import (
    UNKNOWN,
    Class,
    Compiled,
    Const,
    External,
    ExternalObject,
    Instance,
    Mapping,
    Seq,
    Tensor,
    TorchModule,
    Value,
)
from graphdoctor.static.interp import attributes, calls, conditions, expressions, iteration
from graphdoctor.static.interp.interpreter import Interpreter


def assign(interpreter: Interpreter, target: cst.BaseExpression, value: Value, augmented: bool = False) -> None:
    """Bind ``target``, a name, attribute, subscript or a tuple of these, to ``value``."""
    if type(target) is cst.Name:
        scope = interpreter.frame.scope
        scope.forget(target.value)
        if interpreter.frame.compiled and target.value in scope.outer and target.value in scope.module.names:
            module = ExternalObject("builtins.globals")
            interpreter.emit(SetAttr, target, receiver=module, name=target.value, value=value, augmented=augmented)
        if target.value in scope.outer and (interpreter.frame.conditional or interpreter.frame.trying):
            # A global keeps its old value too, since this may not run: a kernel that is loaded only where there is a
            # GPU.
            value = join(scope.find(target.value) or value, value)
        if target.value in scope.outer and interpreter.main is not None:
            held_in = scope.target(target.value)
            interpreter.project.rebound.append((held_in, target.value, held_in.names.get(target.value)))
        function = interpreter.frame.function
        if value is UNKNOWN and interpreter.frame.compiled and function and target.value in function.shown_tensors:
            # What gave it is not known, such as a function that users pass; it is used as a tensor.
            value = Tensor(is_known=False)
        scope.assign(target.value, value)
    elif type(target) is cst.Attribute:
        attributes.write_attribute(
            interpreter, target, expressions.evaluate(interpreter, target.value), value, augmented=False
        )
    elif type(target) is cst.Subscript:
        _store_item(interpreter, target, value)
    elif isinstance(target, (cst.Tuple, cst.List)):
        _unpack(interpreter, target.elements, value)
    elif type(target) is cst.StarredElement:
        assign(interpreter, target.value, Seq("list", None, UNKNOWN))


def outlives_call(interpreter: Interpreter, node: cst.BaseExpression) -> bool:
    """Whether the next call finds the same list or dictionary: in an attribute of an object that lives on, or in a
    global.

    An object that is known only by an annotation may be another one in each call.
    """
    if isinstance(node, cst.Attribute):
        holders = options(expressions.evaluate(interpreter, node.value))
        kept = [o for o in holders if isinstance(o, Instance) and not o.inside and not o.may_be_subclass]
        renewed = any((o, node.attr.value) in interpreter.stores.new_lists for o in kept)
        return not renewed and len(kept) + sum(isinstance(o, Class) for o in holders) == len(holders)
    scope = interpreter.frame.scope
    return isinstance(node, cst.Name) and node.value not in scope.names and node.value in scope.module.names


def _store_item(interpreter: Interpreter, target: cst.Subscript, value: Value) -> None:
    receiver = expressions.evaluate(interpreter, target.value)
    index = expressions.index_values(interpreter, target)
    if may_be_tensor(receiver):
        interpreter.emit(Subscript, target, receiver=receiver, index=index, mode="store")
    else:
        store_item(interpreter, target, receiver, index, value, augmented=False)


def store_item(
    interpreter: Interpreter,
    target: cst.Subscript,
    receiver: Value,
    index: tuple[Value, ...],
    value: Value,
    augmented: bool,
) -> None:
    """Store ``value`` as the item ``target`` of ``receiver``, which is no tensor. Emits ``SetItem``."""
    if any(isinstance(o, (Mapping, Seq)) for o in options(receiver)) and outlives_call(interpreter, target.value):
        stored_in = target.value
        holder = expressions.evaluate(interpreter, stored_in.value) if isinstance(stored_in, cst.Attribute) else None
        interpreter.emit(SetItem, target, value=value, augmented=augmented, holder=holder)
        value = widen_numbers(value) if augmented else value
    updated: list[Value] = []
    for option in options(receiver):
        if isinstance(option, Mapping):
            updated.append(_with_item(option, index, value))
        elif isinstance(option, TorchModule) and isinstance(option.children, Mapping):
            updated.append(replace(option, children=_with_item(option.children, index, value)))
        elif isinstance(option, Seq):
            items = option.items if option.items is not None else (option.element,)
            updated.append(Seq(option.kind, None, join(value, *items)))
        elif isinstance(option, External):
            interpreter.emit(Subscript, target, receiver=option, index=index, mode="store")
            updated.append(option)
        elif isinstance(option, Instance) and option.info.lookup("__setitem__") is not None:
            calls.call_method(interpreter, target, option, "__setitem__", (*index, value))
            updated.append(option)
        else:
            updated.append(option)
    if isinstance(target.value, (cst.Name, cst.Attribute)):
        put_back(interpreter, target.value, join(*updated))


def _with_item(mapping: Mapping, index: tuple[Value, ...], value: Value) -> Mapping:
    if len(index) == 1 and isinstance(index[0], Const):
        key = index[0].value
        kept = tuple((k, v) for k, v in mapping.items if k != key)
        return Mapping((*kept, (key, value)), mapping.rest)
    return Mapping(mapping.items, value if mapping.rest is None else join(mapping.rest, value))


def put_back(interpreter: Interpreter, target: cst.BaseExpression, value: Value) -> None:
    """Store the new value of a container that was changed in place under the expression that it was read from."""
    interpreter.frame.scope.forget(conditions.dotted(target) or "")
    if type(target) is cst.Name:
        frame = interpreter.frame
        scope = frame.scope if frame.compiled else frame.scope.holder(target.value)
        if scope is not None and target.value in scope.names:
            scope.names[target.value] = value
    elif type(target) is cst.Attribute:
        for option in options(expressions.evaluate(interpreter, target.value)):
            holder = option.target if isinstance(option, Compiled) else option
            if isinstance(holder, Instance) and target.attr.value in holder.attrs:
                holder.attrs[target.attr.value] = value


def count_dimensions(interpreter: Interpreter, target: cst.BaseExpression, shape: cst.BaseExpression) -> None:
    """``b, n, c = x.shape``, or ``x.size()``, shows how many dimensions ``x`` has."""
    if type(target) is not cst.Tuple:
        return
    if type(shape) is cst.Call and not shape.args:
        shape, asked = shape.func, "size"
    else:
        asked = "shape"
    if type(shape) is not cst.Attribute or type(shape.value) is not cst.Name or shape.attr.value != asked:
        return
    tensor = interpreter.frame.scope.names.get(shape.value.value)
    elements = target.elements
    if type(tensor) is Tensor and tensor.ndim is None and not any(type(e) is cst.StarredElement for e in elements):
        interpreter.frame.scope.names[shape.value.value] = replace(tensor, ndim=len(elements))


def _unpack(interpreter: Interpreter, targets: Sequence[cst.BaseElement], value: Value) -> None:
    stars = [i for i, t in enumerate(targets) if type(t) is cst.StarredElement]
    value = _unpacked(value, len(targets) - len(stars), exact=not stars)
    items, element = iteration.elements(interpreter, targets[0].value if targets else None, value, count=len(targets))
    for position, target in enumerate(targets):
        if type(target) is cst.StarredElement:
            if items is not None:
                rest = items[position : len(items) - (len(targets) - position - 1)]
                assign(interpreter, target.value, Seq("list", tuple(rest)))
            else:
                assign(interpreter, target.value, Seq("list", None, element))
        elif items is not None and (not stars or position < stars[0]) and position < len(items):
            assign(interpreter, target.value, items[position])
        elif items is not None and stars and len(targets) - position <= len(items):
            assign(interpreter, target.value, items[position - len(targets)])
        else:
            assign(interpreter, target.value, element)


def _unpacked(value: Value, count: int, *, exact: bool) -> Value:
    """The alternatives of ``value`` that can be unpacked into ``count`` targets; Unknown where there is none.

    An argument that may be a tuple is taken for one here, not for a tensor.
    """
    found = options(value)
    tuples = [option for option in found if isinstance(option, Seq) and option.kind in ("tuple", "list")]
    if not tuples:
        return value
    lengths = {id(option): len(option.items) for option in tuples if option.items is not None}
    unfit = {key for key, length in lengths.items() if length < count or (exact and length != count)}
    left = [o for o in found if id(o) not in unfit and not (isinstance(o, Tensor) and o.argument)]
    return join(*left) if left else UNKNOWN
