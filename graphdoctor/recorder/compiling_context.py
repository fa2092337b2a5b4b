"""What a compiled module compiles with: a trainer takes it from there and compiles methods of the module with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn


class WatchedContext:
    """Compiles as ``context`` does, and gives what it made to ``watched``, with the original. A copy is ``context``."""

    def __init__(self, context: Any, watched: Callable[[Any, Any], Any]) -> None:
        self._context, self._watched = context, watched

    def __call__(self, function: Any) -> Any:
        return self._watched(self._context(function), function)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def __reduce__(self) -> Any:
        return _same, (self._context,)


def watch_context(compiled: nn.Module, watched: Callable[[Any, Any], Any]) -> None:
    """Let ``watched`` have what is compiled with the context of a compiled module from now on.

    Lightning compiles ``training_step`` and the like so, where it is given such a module.
    """
    context = vars(compiled).get("dynamo_ctx")
    if context is not None:
        vars(compiled)["dynamo_ctx"] = WatchedContext(context, watched)


def _same(context: Any) -> Any:
    return context
