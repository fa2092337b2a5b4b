"""Attributes of a module that its users may set by a method: ``set_mode(self, mode)``, which stores its argument."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import libcst as cst

from graphdoctor.static.domain.program import ClassInfo, FunctionInfo
from graphdoctor.static.domain.value_functions import join
from graphdoctor.static.domain.values import NONE, UNKNOWN, Const, Function, Instance, PythonValue, Value
from graphdoctor.static.interp import definitions

_STORES = re.compile(r"^[ \t]*self\.(\w+)[ \t]*=[ \t]*(\w+)[ \t]*(?:#.*)?$")


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
        stored = list(_stores(value.info))
        if stored and f"self.{name}(" not in text:
            yield from stored


def _stores(method: FunctionInfo) -> Iterator[str]:
    if not isinstance(method.node, cst.FunctionDef):
        return
    given = {param.name.value for param in definitions.parameters(method.node.params)[1:]}
    place = method.module.source.location(method.node)
    for line in method.module.source.lines[place.line - 1 : place.end_line] if given else ():
        found = _STORES.match(line)
        if found is not None and found[2] in given:
            yield found[1]
