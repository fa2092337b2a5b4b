"""Functions that build modules: outside compiled code those of other files are followed too, for what they return."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from graphdoctor.static.domain.program import FunctionInfo
from graphdoctor.static.domain.values import Class, External, Function, Imported, Value
from graphdoctor.static.interp import imports
from graphdoctor.syntax.walk import find

if TYPE_CHECKING:
    from graphdoctor.static.interp.interpreter import Interpreter

#: Functions that call each other until one makes a module.
_DEEPEST = 3


def builds_module(interpreter: Interpreter, info: FunctionInfo, depth: int = 0) -> bool:
    """Whether the body of ``info`` makes an ``nn.Module``, or calls a function of its file that does."""
    known = interpreter.builders.get(info)
    if known is None:
        # What calls itself makes nothing by that.
        interpreter.builders[info] = False
        calls = find(info.body, cst.Call)
        known = interpreter.builders[info] = any(_makes_module(interpreter, info, call, depth) for call in calls)
    return known


def _makes_module(interpreter: Interpreter, info: FunctionInfo, call: cst.Call, depth: int) -> bool:
    if isinstance(call.func, cst.Attribute):
        owner = info.module.scope.names.get(call.func.value.value) if isinstance(call.func.value, cst.Name) else None
        return owner == External("torch.nn") and call.func.attr.value[:1].isupper()
    if not isinstance(call.func, cst.Name):
        return False
    named: Value | None = info.module.scope.names.get(call.func.value)
    if isinstance(named, Imported) and call.func.value[:1].isupper():
        named = imports.resolve(interpreter, named)
    if isinstance(named, Class):
        return named.info.is_module
    return isinstance(named, Function) and depth < _DEEPEST and builds_module(interpreter, named.info, depth + 1)
