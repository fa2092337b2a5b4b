"""Modules without a ``forward``, of which methods are called: ``agent.get_value(x)``, as in reinforcement learning."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn


@dataclass(frozen=True)
class Method:
    """A method ``name`` of ``cls``, the class that defines it."""

    cls: type[nn.Module]
    name: str
    function: Callable[..., Any]


def calling_method() -> Method | None:
    """The outermost running method of a module that has no ``forward``; None where there is none."""
    found, frame = None, sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        owner = frame.f_locals.get("self") if code.co_varnames[:1] == ("self",) else None
        if isinstance(owner, nn.Module) and type(owner).forward is nn.Module.forward:
            found = _method(type(owner), code) or found
        frame = frame.f_back  # type: ignore[assignment]
    return found


def _method(cls: type[nn.Module], code: Any) -> Method | None:
    """What ``code`` is a method of; None for ``__init__``, and for what is no plain method."""
    name = code.co_name
    holder = next((base for base in cls.__mro__ if name in vars(base)), None)
    function = vars(holder)[name] if holder is not None and not name.startswith("__") else None
    if holder is None or not inspect.isfunction(function) or inspect.unwrap(function).__code__ is not code:
        return None
    return Method(holder, name, function)
