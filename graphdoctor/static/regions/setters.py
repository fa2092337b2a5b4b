"""Attributes of a module that its users may set by a method: ``set_mode(self, mode)``, which stores its argument."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from graphdoctor.static.domain.program import ClassInfo, FunctionInfo
from graphdoctor.static.domain.value_functions import join
from graphdoctor.static.domain.values import NONE, UNKNOWN, Const, Function, Instance, PythonValue, Value
from graphdoctor.static.interp import definitions
from graphdoctor.syntax.walk import find


def may_be_set(module: Instance) -> None:
    """Give the attributes of ``module`` that a method of its class sets the values that users may choose."""
    candidates = {name for name, value in module.attrs.items() if isinstance(value, Const)}
    for name in _stored(module.info) if candidates else ():
        if name in candidates:
            module.attrs[name] = or_given(module.attrs[name])


def or_given(default: Value) -> Value:
    """``default``, or another value that users may give in its place: anything for None, another name for a name, the
    other state of a flag, and another factor than 0 or 1.0.
    """
    if default == NONE:
        return join(UNKNOWN, NONE)
    if isinstance(default, Const) and default.value in (0, 1) and _is_switch(default.value):
        return PythonValue(type(default.value).__name__)
    if isinstance(default, Const) and isinstance(default.value, str):
        return join(default, PythonValue("str"))
    return default


def _is_switch(default: Any) -> bool:
    """Whether a default is a flag, or a probability or factor that does nothing: 0, or 1.0, while 1 is a size."""
    return type(default) is not int or default == 0


def _stored(info: ClassInfo) -> Iterator[str]:
    """The attributes in which a method of ``info`` stores an argument, where the code of its class does not call it."""
    for known in info.mro:
        if known.set_by_users is None:
            known.set_by_users = frozenset(_stored_by_class(known))
        yield from known.set_by_users


def _stored_by_class(info: ClassInfo) -> Iterator[str]:
    text = info.module.source.text
    for name, value in info.attrs.items():
        if not isinstance(value, Function) or name.startswith("_") or name == "forward":
            continue
        if f"self.{name}(" not in text:
            yield from _stores(value.info)


def _stores(method: FunctionInfo) -> Iterator[str]:
    """The attributes of its object to which ``method`` assigns one of its arguments as it is."""
    if not isinstance(method.node, cst.FunctionDef):
        return
    arguments = {param.name.value for param in definitions.parameters(method.node.params)[1:]}
    if not arguments or not _may_store(method):
        return
    for assignment in find(method.body, cst.Assign):
        if type(assignment.value) is cst.Name and assignment.value.value in arguments:
            for each in assignment.targets:
                target = each.target
                if type(target) is cst.Attribute and type(target.value) is cst.Name and target.value.value == "self":
                    yield target.attr.value


def _may_store(method: FunctionInfo) -> bool:
    """Whether a line of ``method`` begins with ``self.``.

    That is a quick look at the text, which spares most methods the making of their nodes.
    """
    source = method.module.source
    place = source.location(method.node)
    return any(line.lstrip().startswith("self.") for line in source.lines[place.line - 1 : place.end_line])
