"""Defaults of the methods of objects that compiled code makes.

Dynamo knows where a function of a module or of an object that was there before comes from, and reads its defaults from
there. The methods of an object that it makes itself come from nowhere; it makes their defaults anew, which it can for
numbers, texts, tuples, functions and classes, and not for tensors, modules and objects. An argument that is passed
takes the place of the default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst

from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import STAR, Instance, Seq, Tensor, TorchModule, Value
from graphdoctor.static.interp.interpreter import Interpreter

#: The name by which rules know the call of such a method; its ``kwargs`` has the parameter.
UNBUILT_DEFAULT = "types.MethodType.__defaults__"


def report(
    interpreter: Interpreter,
    node: cst.CSTNode,
    made: Instance,
    defaults: Mapping[str, Value],
    parameters: Sequence[str],
    args: tuple[Value, ...],
    kwargs: Mapping[str, Value],
) -> None:
    """Report the first of ``defaults`` that a call of a method of ``made`` uses, if it cannot be made anew.

    ``parameters`` are those that take ``args``, in order.
    """
    unbuilt = [name for name, default in defaults.items() if all(map(_is_object, options(default)))]
    if not unbuilt or made.info.is_module or "**" in kwargs or any(type(arg) is Seq and arg.kind == STAR for arg in args):
        return
    used = [name for name in unbuilt if name not in kwargs and name not in parameters[: len(args)]]
    if used:
        given = {used[0]: defaults[used[0]]}
        interpreter.emit(Call, node, qualname=UNBUILT_DEFAULT, args=(), kwargs=given, receiver=made, used=True)


def _is_object(value: Value) -> bool:
    if type(value) is Instance:
        return not value.info.derives("typing.NamedTuple", "collections.namedtuple")
    return type(value) is Tensor or type(value) is TorchModule
