"""Code of the scanned files that Dynamo does not inline: custom operators, disabled functions, functions of other
compilers, and what TorchScript makes of functions and modules."""

from __future__ import annotations

import libcst as cst

from graphdoctor.static.domain.decorators import (
    CACHED_CLASSMETHOD,
    CACHED_METHOD,
    CACHES,
    NUMBA,
    NVTX_RANGE,
    OTHER_COMPILER,
    SCRIPTED_IN_AUTOGRAD_FUNCTION,
)
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.torch_tables import AUTOGRAD_FUNCTION, EXTENSION
from graphdoctor.static.domain.value_functions import join, options
from graphdoctor.static.domain.values import (
    UNKNOWN,
    Class,
    Compiled,
    ExternalObject,
    Function,
    Instance,
    TorchModule,
    Unknown,
    Value,
)
from graphdoctor.static.interp import arguments
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.library_models import type_checkers

#: Functions that make TorchScript. Dynamo calls a scripted function in the graph, and does not trace a scripted module.
SCRIPTING = ("torch.jit.script", "torch.jit.trace")

#: Decorators after which Dynamo puts the call in the graph without looking inside.
OPAQUE = frozenset((
    "custom_op", "triton_op", "nonstrict_trace", "allow_in_graph", "leaf_function", "register_fake",
    "assume_constant_result",
))  # fmt: skip


def call(
    interpreter: Interpreter, node: cst.CSTNode, function: Function, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value | None:
    """The result of the call; None where Dynamo inlines the function. ``args`` begin with the object of a method."""
    info = function.info
    if not info.markers:
        return None
    disabled = "disable" in info.markers and interpreter.frame.compiled
    name = _name_for_rules(function)
    if name and interpreter.frame.compiled:
        interpreter.emit(Call, node, qualname=name, args=args, kwargs=kwargs, receiver=function)
    if disabled or info.markers & {NUMBA, OTHER_COMPILER}:
        return UNKNOWN
    return arguments.opaque_result(interpreter, info, args) if info.markers & OPAQUE else None


def _name_for_rules(function: Function) -> str:
    """The name by which rules know the call; "" where no rule is about it."""
    info = function.info
    if "disable" in info.markers:
        return "torch.compiler.disable.__call__"
    if "script" in info.markers and info.owner is not None and info.owner.derives(*AUTOGRAD_FUNCTION):
        return f"{SCRIPTED_IN_AUTOGRAD_FUNCTION}.__call__"
    if NVTX_RANGE in info.markers:
        return f"{NVTX_RANGE}.__call__"
    if CACHES & info.markers:
        if "classmethod" in info.markers:
            return CACHED_CLASSMETHOD
        if info.owner is not None and info.owner.derives(*AUTOGRAD_FUNCTION):
            return CACHED_METHOD
    if type_checkers.DRAWS in info.markers:
        return f"{type_checkers.BEARTYPE}.__call__"
    if NUMBA in info.markers:
        return f"{EXTENSION}{info.module.name}.{info.qualname}"
    return "torch.library.custom_op.__call__" if "custom_op" in info.markers else ""


def scripted(qualname: str, code: Value) -> Value:
    """The result of ``qualname``, one of ``SCRIPTING``, for ``code``."""
    return join(*(_scripted(qualname, option) for option in options(code)))


def _scripted(qualname: str, code: Value) -> Value:
    if isinstance(code, Class):
        # Outside TorchScript, objects of a scripted class are Python objects.
        return code
    if isinstance(code, Function):
        return ExternalObject("torch.jit.ScriptFunction")
    return ExternalObject(qualname) if isinstance(code, (Instance, TorchModule)) else UNKNOWN


def made_by_libraries(callees: tuple[Value, ...]) -> tuple[Value, ...]:
    """The objects of libraries among ``callees``, also compiled as in `torch.compile(torch.jit.load(path))`, beside
    others: code of the scanned files, or what is not known.
    """
    made = tuple(o for o in callees if isinstance(o.target if isinstance(o, Compiled) else o, ExternalObject))
    others = any(isinstance(option, (Function, Compiled, Unknown)) and option not in made for option in callees)
    return made if others else ()
