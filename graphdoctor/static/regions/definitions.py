"""The names that the top level of a module defines, and the annotations that its parameters have."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.static.domain.program import FunctionInfo, ModuleInfo
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Function, Value
from graphdoctor.static.interp.definitions import parameters


def defined(module: ModuleInfo) -> list[tuple[str, Value]]:
    """The names of ``module`` with their values: several where ``if`` and ``else`` define the same name."""
    return [(name, option) for name, value in module.scope.names.items() for option in options(value)]


def annotation_of(info: FunctionInfo, param: cst.Param) -> tuple[FunctionInfo, cst.Annotation] | None:
    """The annotation of a parameter of ``info``, and the function that has it.

    A method without one takes what the method that it overrides declares for a parameter of that name.
    """
    if param.annotation is not None:
        return info, param.annotation
    name = param.name.value
    declared = ((known, each) for known in overridden(info) for each in parameters(known.node.params))
    return next(((k, each.annotation) for k, each in declared if each.name.value == name and each.annotation), None)


def overridden(info: FunctionInfo) -> Iterator[FunctionInfo]:
    """The methods that a method overrides, the nearest first."""
    for known in info.owner.mro[1:] if info.owner is not None else ():
        method = known.attrs.get(info.name)
        if isinstance(method, Function):
            yield method.info
