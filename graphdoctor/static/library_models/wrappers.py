"""Wrappers that decorators of other modules put around a call, and that are traced with it.

The result of a call is that of the decorated function, as if there were no decorator, since little would be known of
values that pass through ``*args`` and ``**kwargs``. The wrapper is interpreted separately, once for each decorator,
with unknown arguments, and only code that runs in every call of it is reported.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.static.domain.program import FunctionInfo, Scope
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import STAR, UNKNOWN, Function, Seq, Value
from graphdoctor.static.interp import arguments, calls
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.syntax.walk import walk

#: Any arguments.
_ARGS: tuple[Value, ...] = (Seq(STAR, None, UNKNOWN),)
_KWARGS: dict[str, Value] = {"**": UNKNOWN}


def interpret_wrappers(interpreter: Interpreter, node: cst.CSTNode, info: FunctionInfo) -> None:
    """Interpret the wrappers that decorators put around ``info``, a function that is called at ``node``."""
    frame = interpreter.frame
    if not info.wrappers or frame.conditional or frame.untaken or frame.muted:
        return
    saved, frame.guessed = frame.guessed, True
    try:
        for wrapper in info.wrappers:
            calls.call_function(interpreter, node, wrapper, _ARGS, _KWARGS)
    finally:
        frame.guessed = saved


def wrapped_by(interpreter: Interpreter, node: cst.BaseExpression, decorator: Function) -> list[Function]:
    """The wrappers of which ``decorator``, written as ``node``, puts one in the place of the decorated function."""
    info = decorator.info
    if info.effect.wrapper is not None:
        if info.wrapper is None:
            info.wrapper = _made(info, info.effect.wrapper)
        found = [info.wrapper]
    elif any(_wraps(info.module.scope.names.get(name)) for name in info.effect.delegates):
        found = _made_elsewhere(interpreter, node, decorator)
    else:
        found = []
    return [wrapper for wrapper in found if not wrapper.info.generator]


def _wraps(value: Value | None) -> bool:
    return isinstance(value, Function) and value.info.effect.wrapper is not None


def _made(decorator: FunctionInfo, node: cst.FunctionDef) -> Function:
    name = f"{decorator.qualname}.{node.name.value}"
    info = FunctionInfo(node, node.name.value, name, decorator.module, None, frozenset(), {})
    around: dict[str, Value] = dict.fromkeys(_bound_around(decorator, node), UNKNOWN)
    return Function(info, None, Scope("function", around, decorator.module.scope))


def _made_elsewhere(interpreter: Interpreter, node: cst.BaseExpression, decorator: Function) -> list[Function]:
    """The result of calling ``decorator`` with an unknown function."""
    frame = interpreter.frame
    saved, frame.guessed = frame.guessed, True
    try:
        with interpreter.path(muted=True):
            result: Value = decorator
            if type(node) is cst.Call:
                args, kwargs = arguments.passed(interpreter, node)
                result = calls.apply(interpreter, node, decorator, args, kwargs)
            made = [calls.apply(interpreter, node, option, (UNKNOWN,), {}) for option in options(result)]
    finally:
        frame.guessed = saved
    return [option for value in made for option in options(value) if isinstance(option, Function)]


def _bound_around(decorator: FunctionInfo, wrapper: cst.FunctionDef) -> set[str]:
    """The names that the functions around ``wrapper`` bind: parameters, and what is assigned or defined in them."""
    assert isinstance(decorator.node, cst.FunctionDef)
    functions = [decorator.node, *(n for n in walk(decorator.body) if type(n) is cst.FunctionDef and n is not wrapper)]
    found = {node.name.value for node in functions}
    for function in functions:
        found |= {param.name.value for param in walk(function.params) if type(param) is cst.Param}
    for node in walk(decorator.body, stop=(cst.Lambda, cst.ClassDef)):
        if type(node) is cst.AssignTarget and type(node.target) is cst.Name:
            found.add(node.target.value)
    return found
