"""What the arguments of a wrapper are to the function that it wraps: ``args[0]`` is its ``x``."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

import torch

_TAKES_ANY = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_SELF: tuple[tuple[str, ...], ...] = ((), ("self",))


#: The names, the place of the function that is wrapped, and which object is.
Wrapped = tuple[dict[str, str], tuple[str, int, str], str]


def argument_names(code: CodeType, variables: Mapping[str, Any]) -> Wrapped | None:
    """The names for what ``code`` calls ``args[0]`` and ``kwargs['x']``, and the file, line and name of what it wraps.

    A module has the name of its class.

    ``variables`` are those of its frame. None where ``code`` is no wrapper that calls one function of around it with
    just the arguments that it gets.
    """
    free = [name for name in code.co_freevars if callable(variables.get(name))]
    inside = [variables[name] for name in free]
    if not _passes_on(code) or len(inside) != 1 or _changes_arguments(code):
        return None
    is_module = isinstance(inside[0], torch.nn.Module)
    called = inside[0].forward if is_module else inside[0]
    found = _innermost(called)
    if found is None:
        return None
    number = code.co_argcount + code.co_kwonlyargcount
    args, kwargs = code.co_varnames[number : number + 2]
    parameters = found.co_varnames[: found.co_argcount]
    taken = parameters[bool(getattr(called, "__self__", None)) + code.co_argcount :]
    keywords = (*parameters, *found.co_varnames[found.co_argcount : found.co_argcount + found.co_kwonlyargcount])
    positions = {f"{args}[{i}]": name for i, name in enumerate(taken)}
    names = positions | {f"{kwargs}['{name}']": name for name in keywords}
    names |= {free[0]: type(inside[0]).__name__} if is_module else {}
    return names, (found.co_filename, found.co_firstlineno, found.co_name), _identity(inside[0], found)


def _identity(wrapped: Any, code: CodeType) -> str:
    """The same for what is compiled as one: a bound method, and a function in a loop, are made anew each time.

    ``code`` is behind the decorators, since all functions that ``torch.no_grad()`` decorates have its code.
    """
    owner = getattr(wrapped, "__self__", None)
    is_function = getattr(wrapped, "__code__", None) is not None
    return f"{id(owner) if owner is not None else ''} {id(code if is_function else wrapped)}"


def _innermost(called: Callable[..., Any]) -> CodeType | None:
    """The code of ``called``, or of what is behind the decorators on it that take any arguments."""
    inner: Any = called
    while (wrapped := getattr(inner, "__wrapped__", None)) is not None and _passes_on(getattr(inner, "__code__", None)):
        inner = wrapped
    code = getattr(inner, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _passes_on(code: CodeType | None) -> bool:
    takes_any = code is not None and code.co_flags & _TAKES_ANY == _TAKES_ANY
    return code is not None and takes_any and code.co_varnames[: code.co_argcount] in _SELF


def _changes_arguments(code: CodeType) -> bool:
    """Whether the wrapper may call with more than it gets: ``fn(first, *args)``, or binds the names anew."""
    number = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[number : number + 2]
    return any(
        step.opname == "LIST_EXTEND" or (step.opname.startswith("STORE_FAST") and step.argval in names)
        for step in dis.get_instructions(code)
    )
