"""Assignments: binding names, attributes, items and what is unpacked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import libcst as cst

from graphdoctor.static import attributes, calls, expressions, iterate
from graphdoctor.static.events import SetAttr, Subscript
from graphdoctor.static.machine import Machine
from graphdoctor.static.values import (
    UNKNOWN,
    Const,
    External,
    Instance,
    Mapping,
    Returned,
    Seq,
    TorchModule,
    Value,
    join,
    may_be_tensor,
    options,
)  # fmt: skip


def assign(machine: Machine, target: cst.BaseExpression, value: Value, augmented: bool = False) -> None:
    """Bind ``target``, a name, attribute, subscript or a tuple of these, to ``value``."""
    if type(target) is cst.Name:
        scope = machine.frame.scope
        scope.forget(target.value)
        if machine.frame.compiled and target.value in scope.outer and target.value in scope.module.names:
            module = Returned("builtins.globals")
            machine.emit(SetAttr, target, receiver=module, name=target.value, value=value, augmented=augmented)
        if target.value in scope.outer and (machine.frame.conditional or machine.frame.trying):
            # Others still see what it held, if this does not run: a kernel that is loaded where there is a GPU.
            value = join(scope.find(target.value) or value, value)
        scope.assign(target.value, value)
    elif type(target) is cst.Attribute:
        attributes.write_attribute(machine, target, expressions.evaluate(machine, target.value), value, augmented=False)
    elif type(target) is cst.Subscript:
        _store_item(machine, target, value)
    elif isinstance(target, (cst.Tuple, cst.List)):
        _unpack(machine, target.elements, value)
    elif type(target) is cst.StarredElement:
        assign(machine, target.value, Seq("list", None, UNKNOWN))


def _store_item(machine: Machine, target: cst.Subscript, value: Value) -> None:
    receiver = expressions.evaluate(machine, target.value)
    index = expressions.index_values(machine, target)
    if may_be_tensor(receiver):
        machine.emit(Subscript, target, receiver=receiver, index=index, mode="store")
        return
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
            machine.emit(Subscript, target, receiver=option, index=index, mode="store")
            updated.append(option)
        elif isinstance(option, Instance) and option.info.lookup("__setitem__") is not None:
            calls.call_method(machine, target, option, "__setitem__", (*index, value))
            updated.append(option)
        else:
            updated.append(option)
    if isinstance(target.value, (cst.Name, cst.Attribute)):
        put_back(machine, target.value, join(*updated))


def _with_item(mapping: Mapping, index: tuple[Value, ...], value: Value) -> Mapping:
    if len(index) == 1 and isinstance(index[0], Const):
        key = index[0].value
        kept = tuple((k, v) for k, v in mapping.items if k != key)
        return Mapping((*kept, (key, value)), mapping.rest)
    return Mapping(mapping.items, value if mapping.rest is None else join(mapping.rest, value))


def put_back(machine: Machine, target: cst.BaseExpression, value: Value) -> None:
    """Store a container that was changed in place where it was read from."""
    if type(target) is cst.Name:
        scope = machine.frame.scope
        if target.value in scope.names:
            scope.names[target.value] = value
    elif type(target) is cst.Attribute:
        for option in options(expressions.evaluate(machine, target.value)):
            if isinstance(option, Instance) and target.attr.value in option.attrs:
                option.attrs[target.attr.value] = value


def _unpack(machine: Machine, targets: Sequence[cst.BaseElement], value: Value) -> None:
    stars = [i for i, t in enumerate(targets) if type(t) is cst.StarredElement]
    items, element = iterate.elements(machine, targets[0].value if targets else None, value, count=len(targets))
    for position, target in enumerate(targets):
        if type(target) is cst.StarredElement:
            if items is not None:
                rest = items[position : len(items) - (len(targets) - position - 1)]
                assign(machine, target.value, Seq("list", tuple(rest)))
            else:
                assign(machine, target.value, Seq("list", None, element))
        elif items is not None and (not stars or position < stars[0]) and position < len(items):
            assign(machine, target.value, items[position])
        elif items is not None and stars and len(targets) - position <= len(items):
            assign(machine, target.value, items[position - len(targets)])
        else:
            assign(machine, target.value, element)
