"""TorchScript: Dynamo calls a scripted function in the graph, and does not trace a scripted module."""

from __future__ import annotations

from graphdoctor.static.domain.value_functions import join, options
from graphdoctor.static.domain.values import UNKNOWN, Class, ExternalObject, Function, Instance, TorchModule, Value

SCRIPTING = ("torch.jit.script", "torch.jit.trace")


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
