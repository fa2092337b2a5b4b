"""Methods that a module offers beside its forward and that take the same, as the ``inverse`` of a flow does."""

from __future__ import annotations

from graphdoctor.static.domain.program import ClassInfo, ModuleInfo
from graphdoctor.static.domain.values import Function, Instance, Value
from graphdoctor.static.interp import definitions
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.regions.assumed_arguments import assumed_arguments
from graphdoctor.static.regions.entering import default_module, enter, was_called
from graphdoctor.static.regions.offered import NO_METHODS
from graphdoctor.static.regions.wrapped import arguments_for, innermost

#: Methods that undo the forward: they take as many arguments as it, under any names.
_UNDOES = "inverse"


def enter_counterparts(
    interpreter: Interpreter, module: ModuleInfo, info: ClassInfo, instances: dict[int, Instance]
) -> None:
    """Enter the public methods of a module class that take what its forward takes, unless they were called."""
    forward = info.lookup("forward")
    if not isinstance(forward, Function) or not _names(forward):
        return
    own = [known for known in info.mro if known.module is module]
    for name in dict.fromkeys(name for known in own for name in known.attrs):
        value = info.lookup(name)
        if name.startswith("_") or name == "forward" or not isinstance(value, Function):
            continue
        if value.info.markers & NO_METHODS or not _takes_the_same(value, forward):
            continue
        method = value.to(instances.setdefault(id(info), default_module(interpreter, info)))
        if not was_called(interpreter, method):
            with interpreter.sink.only_offered(module.source):
                passed = _passed(interpreter, method, forward)
                enter(interpreter, module, method, *arguments_for(method, passed))


def _takes_the_same(method: Function, forward: Function) -> bool:
    if _names(method) == _names(forward):
        return True
    return method.info.name == _UNDOES and len(_required(method)) == len(_required(forward)) > 0


def _passed(interpreter: Interpreter, method: Function, forward: Function) -> dict[str, Value]:
    """What the forward may be given, under the names that ``method`` has for it."""
    given = assumed_arguments(interpreter, innermost(forward if method.bound is None else forward.to(method.bound)))
    if _names(method) == _names(forward):
        return given
    values = [given[name] for name in _required(forward)]
    return assumed_arguments(interpreter, innermost(method)) | dict(zip(_required(method), values, strict=True))


def _names(function: Function) -> list[str]:
    return [param.name.value for param in definitions.parameters(innermost(function).info.node.params)][1:]


def _required(function: Function) -> list[str]:
    defaults = innermost(function).info.defaults
    return [name for name in _names(function) if name not in defaults]
