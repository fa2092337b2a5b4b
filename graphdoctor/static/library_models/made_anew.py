"""Defaults and closures of the methods of objects that compiled code makes.

Dynamo knows where a function of a module or of an object that was there before comes from, and reads its defaults and
what it closes over from there. The methods of an object that it makes itself come from nowhere; it makes both anew,
which it can for numbers, texts, tuples, functions and classes, and not for tensors, modules and other objects. An
argument that is passed takes the place of the default.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from graphdoctor.static.domain.decorators import KEEPS_SIGNATURE
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.program import Scope
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import STAR, ExternalObject, Function, Instance, Seq, Tensor, TorchModule, Value
from graphdoctor.static.interp.interpreter import Interpreter

#: The names by which rules know the call of such a method. ``kwargs`` has the parameter, or the name in the closure.
UNBUILT_DEFAULT = "types.MethodType.__defaults__"
UNBUILT_CLOSURE = "types.MethodType.__closure__"

_SIGNATURE = ExternalObject("inspect.signature")


def report_method(
    interpreter: Interpreter, node: cst.CSTNode, method: Function, args: tuple[Value, ...], kwargs: Mapping[str, Value]
) -> None:
    """Report the call of ``method``, which is bound to an object that compiled code made, if it needs such an object.

    ``args`` begin with the object.
    """
    info, made = method.info, method.bound
    if not isinstance(made, Instance) or made.info.is_module:
        return
    if info.defaults:
        order = [param.name.value for param in (*info.node.params.posonly_params, *info.node.params.params)]
        report_defaults(interpreter, node, made, info.defaults, order, args, kwargs)
    held = {"signature": _SIGNATURE} if KEEPS_SIGNATURE in info.markers else dict(_captured(method))
    if held:
        interpreter.emit(Call, node, qualname=UNBUILT_CLOSURE, args=(), kwargs=held, receiver=made, used=True)


def report_defaults(
    interpreter: Interpreter,
    node: cst.CSTNode,
    made: Instance,
    defaults: Mapping[str, Value],
    parameters: Sequence[str],
    args: tuple[Value, ...],
    kwargs: Mapping[str, Value],
) -> None:
    """Report the first of ``defaults`` that a call for ``made`` uses, if it cannot be made anew.

    ``parameters`` are those that take ``args``, in order.
    """
    unbuilt = [name for name, default in defaults.items() if _is_object(default)]
    if not unbuilt or "**" in kwargs or any(type(arg) is Seq and arg.kind == STAR for arg in args):
        return
    used = [name for name in unbuilt if name not in kwargs and name not in parameters[: len(args)]]
    if used:
        given = {used[0]: defaults[used[0]]}
        interpreter.emit(Call, node, qualname=UNBUILT_DEFAULT, args=(), kwargs=given, receiver=made, used=True)


def _captured(method: Function) -> Iterator[tuple[str, Value]]:
    """The variables of the functions around ``method`` that it uses and that hold such an object."""
    scope: Scope | None = method.cells
    while scope is not None and scope.kind == "function":
        for name, value in scope.names.items():
            if _is_object(value) and re.search(
                rf"(?<![\w.]){re.escape(name)}\b(?!\s*=[^=])", method.info.module.source.code(method.info.node)
            ):
                yield name, value
        scope = scope.parent


def _is_object(value: Value) -> bool:
    return all(map(_is_unbuilt, options(value)))


def _is_unbuilt(value: Value) -> bool:
    if type(value) is Instance:
        return not value.info.derives("typing.NamedTuple", "collections.namedtuple")
    if type(value) is ExternalObject:
        return value.qualname == _SIGNATURE.qualname
    return type(value) is Tensor or type(value) is TorchModule
