"""Models that are entered by a method: ``agent.get_value(x)``, as in reinforcement learning."""

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


def calling_method(module: nn.Module) -> Method | None:
    """The method that calls ``module`` and is the way into a model; None where ``module`` is.

    Of a model without a ``forward`` it is the outermost running method. Of another one it is its ``forward``, where the
    program calls that itself, or the method that calls a layer of torch's, which is no model of its own:
    ``critic.q1(x)``. One that calls modules of the program may be a loop over them, such as that of a sampler.
    """
    found, inner, frame = None, None, sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        owner = frame.f_locals.get("self") if code.co_varnames[:1] == ("self",) else None
        if isinstance(owner, nn.Module):
            if type(owner).forward is nn.Module.forward or code.co_name == "forward":
                found = _method(type(owner), code) or found
            elif inner is None and owner is not module and is_of_torch(module) and _owns(owner, module):
                inner = _method(type(owner), code)
        frame = frame.f_back  # type: ignore[assignment]
    return found or inner


def is_of_torch(module: nn.Module) -> bool:
    """Whether ``module`` is a layer of torch's."""
    return type(module).forward.__module__.startswith("torch.")


def _owns(owner: nn.Module, module: nn.Module) -> bool:
    return any(each is module for each in owner.modules())


def _method(cls: type[nn.Module], code: Any) -> Method | None:
    """What ``code`` is a method of; None for ``__init__``, and for what is no plain method."""
    name = code.co_name
    holder = next((base for base in cls.__mro__ if name in vars(base)), None)
    function = vars(holder)[name] if holder is not None and not name.startswith("__") else None
    if holder is None or not inspect.isfunction(function) or inspect.unwrap(function).__code__ is not code:
        return None
    return Method(holder, name, function)
