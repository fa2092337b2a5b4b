"""Evidence from the functions to which a parameter is passed: they use it as a tensor, or as a number."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.static.domain.values import External, Function, Imported, Instance, Value
from graphdoctor.static.interp import definitions, imports
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.regions.argument_inference import uses_of
from graphdoctor.static.regions.wrapped import innermost
from graphdoctor.syntax.walk import walk

#: The number of calls through which a parameter is followed.
_DEEPEST = 3


def passed_on(
    interpreter: Interpreter, function: Function, names: set[str], depth: int = _DEEPEST
) -> tuple[set[str], set[str]]:
    """Those of ``names`` that ``function`` passes to functions that use them as tensors, and as numbers."""
    tensors: set[str] = set()
    numbers: set[str] = set()
    if not names or depth == 0:
        return tensors, numbers
    for call in walk(function.info.body, stop=(cst.FunctionDef, cst.ClassDef)):
        given = [arg for arg in call.args if _name(arg) in names] if type(call) is cst.Call else []
        if type(call) is not cst.Call or not given:
            continue
        callee = _called(interpreter, call, function)
        if callee is None:
            continue
        as_tensor, as_number = _used(interpreter, callee, depth - 1)
        for arg, name in _bound(call, callee):
            if arg in given and name in as_tensor:
                tensors.add(_name(arg))
            elif arg in given and name in as_number:
                numbers.add(_name(arg))
    return tensors - numbers, numbers


def _used(interpreter: Interpreter, function: Function, depth: int) -> tuple[set[str], set[str]]:
    """The parameters of ``function`` used as tensors, and as numbers, by it or by the functions that it calls."""
    owner = function.bound.info if isinstance(function.bound, Instance) else None
    known = interpreter.parameter_uses.get((function.info, owner))
    if known is None:
        tensors, numbers = uses_of(function.info)
        # Set first, because the function may call itself.
        known = interpreter.parameter_uses[function.info, owner] = tensors, numbers
        names = {param.name.value for param in definitions.parameters(function.info.node.params)}
        others = passed_on(interpreter, function, names - tensors - numbers, depth)
        known = interpreter.parameter_uses[function.info, owner] = tensors | others[0], numbers | others[1]
    return known


def _name(arg: cst.Arg) -> str:
    return arg.value.value if type(arg.value) is cst.Name and not arg.star else ""


def _bound(call: cst.Call, callee: Function) -> Iterator[tuple[cst.Arg, str]]:
    """The arguments of ``call`` with the names of the parameters that they are given for."""
    names = [param.name.value for param in definitions.parameters(callee.info.node.params)]
    if callee.bound is not None and "staticmethod" not in callee.info.markers:
        names = names[1:]
    for position, arg in enumerate(call.args):
        if arg.star:
            return
        if arg.keyword is not None:
            yield arg, arg.keyword.value
        elif position < len(names):
            yield arg, names[position]


def _called(interpreter: Interpreter, call: cst.Call, function: Function) -> Function | None:
    """What ``helper(x)``, ``module.helper(x)``, ``self.helper(x)`` or ``self.layer(x)`` calls in scanned code."""
    found: Value | None = None
    names = function.info.module.scope.names
    if type(call.func) is cst.Name:
        found = _resolved(interpreter, names.get(call.func.value))
    elif type(call.func) is cst.Attribute and type(call.func.value) is cst.Name:
        root, name = call.func.value.value, call.func.attr.value
        if root == "self":
            bound = function.bound
            if not isinstance(bound, Instance):
                return None
            held = bound.attrs.get(name)
            bound, name = (held, "forward") if isinstance(held, Instance) else (bound, name)
            method = bound.info.lookup(name)
            return innermost(method.to(bound)) if isinstance(method, Function) else None
        package = _resolved(interpreter, names.get(root))
        if isinstance(package, External):
            module = imports.load_module(interpreter, function.info.module, package.qualname)
            found = _resolved(interpreter, module.scope.names.get(name)) if module is not None else None
    return innermost(found) if isinstance(found, Function) else None


def _resolved(interpreter: Interpreter, value: Value | None) -> Value | None:
    return imports.resolve(interpreter, value) if isinstance(value, Imported) else value
