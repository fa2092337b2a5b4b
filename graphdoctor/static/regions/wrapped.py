"""Wrappers with ``functools.wraps``: they are called like the function that they wrap.

``def wrapper(*args, **kwargs)`` says nothing about its arguments; the parameters of the wrapped function do.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.static.domain.values import Function, Value
from graphdoctor.static.interp import definitions

Arguments = tuple[tuple[Value, ...], dict[str, Value]]


def innermost(function: Function) -> Function:
    """The function that ``function`` wraps, bound to the same object; ``function`` itself where it wraps none."""
    inside, seen = _wrapped(function), {id(function.info)}
    # The variables that a decorator closes over may be rebound, so that two wrappers wrap each other.
    while inside is not None and id(inside.info) not in seen:
        seen.add(id(inside.info))
        function = inside if function.bound is None else inside.to(function.bound)
        inside = _wrapped(function)
    return function


def arguments_for(function: Function, named: dict[str, Value]) -> Arguments:
    """The arguments for ``function`` with which the wrapped function gets ``named``."""
    if _wrapped(function) is None:
        return (), named
    params, inside = function.info.node.params, innermost(function)
    names = [param.name.value for param in (*inside.info.node.params.posonly_params, *inside.info.node.params.params)]
    names = names[0 if function.bound is None else 1 :]
    if not isinstance(params.star_arg, cst.Param):
        own = len(definitions.parameters(params)) - (function.bound is not None)
        names = names[: max(own, 0)]
    return tuple(named[name] for name in names), {k: value for k, value in named.items() if k not in names}


def _wrapped(function: Function) -> Function | None:
    """The function in ``@functools.wraps(function)``, where the wrapper takes ``*args`` or ``**kwargs``."""
    node = function.info.node
    if "wraps" not in function.info.markers or function.cells is None or isinstance(node, cst.Lambda):
        return None
    if not isinstance(node.params.star_arg, cst.Param) and node.params.star_kwarg is None:
        return None
    for decorator in node.decorators:
        call = decorator.decorator
        given = call.args[0].value if isinstance(call, cst.Call) and len(call.args) == 1 else None
        inside = function.cells.find(given.value) if isinstance(given, cst.Name) else None
        if isinstance(inside, Function) and inside.info is not function.info:
            return inside
    return None
