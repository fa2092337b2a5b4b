"""The arguments of a call under the names that guards use: ``x``, ``batch['ids']``, ``xs[0]``."""

from __future__ import annotations

import copy
import inspect
import os
import re
from collections.abc import Callable
from types import CodeType
from typing import Any

import torch
from torch import nn

from graphdoctor.dynamic.user_code import pytree

Arguments = tuple[tuple[Any, ...], dict[str, Any]]

#: Called with every part of the arguments, outermost first; the result replaces the part.
Change = Callable[[str, Any], Any]

_DEPTH = 8
#: The positional parameters of a wrapper that takes any arguments.
_SELF = ((), ("self",))
_TORCH = os.path.dirname(torch.__file__) + os.sep


def names(function: Callable[..., Any], count: int) -> list[str]:
    """The parameter names of ``count`` positional arguments: those of what a decorator wraps, not of its wrapper."""
    called = _called(function)
    inner = called
    while (wrapped := getattr(inner, "__wrapped__", None)) is not None and _passes_on(inner):
        inner = wrapped
    code = getattr(inner, "__code__", None)
    if code is None:
        return [f"argument {i}" for i in range(count)]
    found = list(code.co_varnames[: code.co_argcount])
    if hasattr(called, "__self__"):
        found = found[1:]
    rest = "argument {}"
    if code.co_flags & inspect.CO_VARARGS:
        rest = _rest(code) + "[{}]"
    return [*found[:count], *(rest.format(i) for i in range(count - len(found[:count])))]


def renamed(function: Callable[..., Any], arguments: Arguments, guard: str) -> str:
    """``guard`` with the parameter names in place of the ``args[0]`` and ``kwargs['x']`` of a wrapper.

    A wrapper of the user's code that gets the module in ``*args`` counts it; one of torch is called behind it.
    """
    called = _called(function)
    if not hasattr(called, "__wrapped__") or not _passes_on(called):
        return guard
    code = called.__code__
    before = 0 if code.co_filename.startswith(_TORCH) else hasattr(called, "__self__") - code.co_argcount
    args, kwargs = arguments
    found = {f"{_rest(code)}[{i + before}]": name for i, name in enumerate(names(function, len(args)))}
    keywords = code.co_varnames[code.co_argcount + code.co_kwonlyargcount + 1]
    found |= {f"{keywords}['{name}']": name for name in kwargs}
    return re.sub(r"\b\w+\[(?:\d+|'\w+')\]", lambda part: found.get(part[0], part[0]), guard)


def _called(function: Callable[..., Any]) -> Any:
    return function.forward if isinstance(function, nn.Module) else function


def _passes_on(wrapper: Any) -> bool:
    """Whether a wrapper takes what it wraps is called with: any arguments, after ``self`` where it names that."""
    code = getattr(wrapper, "__code__", None)
    takes_any = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    return code is not None and code.co_flags & takes_any == takes_any and code.co_varnames[: code.co_argcount] in _SELF


def _rest(code: CodeType) -> str:
    """The name of ``*args``."""
    return code.co_varnames[code.co_argcount + code.co_kwonlyargcount]


def named(function: Callable[..., Any], arguments: Arguments) -> dict[str, Any]:
    """The arguments by name, positional ones first."""
    args, kwargs = arguments
    return {**dict(zip(names(function, len(args)), args, strict=True)), **kwargs}


def leaves(function: Callable[..., Any], arguments: Arguments) -> dict[str, Any]:
    """The tensors and Python constants in the arguments, by name."""
    found: dict[str, Any] = {}
    for name, value in named(function, arguments).items():
        # A numpy array is a tensor to Dynamo.
        found |= {leaf.removesuffix(pytree.OF_NUMPY): part for leaf, part in pytree.leaves(value, name).items()}
    return found


def changed(function: Callable[..., Any], arguments: Arguments, change: Change) -> Arguments:
    """The arguments with ``change`` applied; containers on the way are copied."""
    args, kwargs = arguments
    positional = zip(names(function, len(args)), args, strict=True)
    return tuple(_changed(name, value, change, _DEPTH) for name, value in positional), {
        name: _changed(name, value, change, _DEPTH) for name, value in kwargs.items()
    }


def _changed(name: str, value: Any, change: Change, depth: int) -> Any:
    new = change(name, value)
    if new is not value or depth == 0 or isinstance(value, (torch.Tensor, nn.Module, type)) or callable(value):
        return new
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        parts = zip(value._fields, value, strict=True)
        return type(value)(*(_changed(f"{name}.{key}", part, change, depth - 1) for key, part in parts))
    if type(value) in (list, tuple):
        return type(value)(_changed(f"{name}[{i}]", part, change, depth - 1) for i, part in enumerate(value))
    if isinstance(value, dict):
        new = copy.copy(value)
        for key, part in value.items():
            new[key] = _changed(f"{name}[{key!r}]", part, change, depth - 1)
        return new
    if hasattr(value, "__dict__"):
        new = copy.copy(value)
        for key, part in vars(value).items():
            object.__setattr__(new, key, _changed(f"{name}.{key}", part, change, depth - 1))
    return new
