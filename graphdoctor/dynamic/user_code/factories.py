"""Functions that make what is compiled: ``resnet18()`` gives a model, ``make_sample()`` a model and its inputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from torch import nn

_OPTIONAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def made_by(function: Callable[..., Any]) -> Any:
    """The module, or the sample with a module in front, that ``function`` makes; None where it makes none.

    It is called without arguments, unless it needs some. What raises then is what is compiled, and raises there.
    """
    if not inspect.isroutine(function) or _needs_arguments(function):
        return None
    try:
        made = function()
    except Exception:
        return None
    is_sample = isinstance(made, tuple) and len(made) in (2, 3) and isinstance(made[0], nn.Module)
    return made if is_sample or isinstance(made, nn.Module) else None


def _needs_arguments(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin without a signature
        return True
    return any(p.default is p.empty and p.kind not in _OPTIONAL for p in parameters)
