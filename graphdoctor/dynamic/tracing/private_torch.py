"""Private parts of torch that the worker changes or switches on, each guarded: without it, something is left undone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
import torch._dynamo.guards


class NoCompiledAutograd(Exception):
    """This torch has no compiled autograd that can be switched on from outside."""


def skip_guard_timing() -> None:
    """Leave out how Dynamo times the guards at the end of each compile: it flushes the CPU's caches to do so.

    That is a seventh of the compile of a small model, and nobody reads the time here
    (``CheckFunctionManager``, torch/_dynamo/guards.py, since torch 2.6).
    """
    if hasattr(torch._dynamo.guards, "profile_guard_manager"):
        torch._dynamo.guards.profile_guard_manager = lambda *_: 0.0


def compiled_autograd(backend: Callable[..., Any]) -> AbstractContextManager[Any]:
    """A context in which ``backward`` is traced by Dynamo (torch/_dynamo/compiled_autograd.py)."""
    try:
        from torch._dynamo.compiled_autograd import _enable
    except ImportError:
        raise NoCompiledAutograd(f"torch {torch.__version__} has no torch._dynamo.compiled_autograd") from None
    context: AbstractContextManager[Any] = _enable(torch.compile(backend=backend))
    return context
