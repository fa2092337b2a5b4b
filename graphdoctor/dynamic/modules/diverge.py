"""Which submodule gives other outputs when it is compiled, where those of the whole model differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from graphdoctor.dynamic.modules import recorded_calls
from graphdoctor.dynamic.numerics import comparison
from graphdoctor.dynamic.user_code import fresh
from graphdoctor.dynamic.user_code.target import Mode, Target, seed

#: Submodules that are compiled at most.
_MOST = 100


def first(target: Target, mode: Mode, backend: Callable[..., Any]) -> str | None:
    """The name of the first submodule that differs, compiled alone on its inputs of an eager run; None where none does.

    They are taken in the order in which they return, so a submodule comes before the one that calls it.
    """
    recorded = recorded_calls.record(target.sample(mode))
    root = target.sample(mode).module
    if root is None:
        return None
    for name, call in sorted(recorded.items(), key=lambda item: item[1].order)[:_MOST]:
        if name and _differs(root.get_submodule(name), call, backend):
            return name
    return None


def _differs(module: nn.Module, call: recorded_calls.Call, backend: Callable[..., Any]) -> bool:
    try:
        with torch.compiler.set_stance("force_eager"):
            eager = _outputs(module, call, None)
        torch._dynamo.reset()
        return comparison.compare(eager, _outputs(module, call, backend)).where is not None
    except Exception:  # it cannot be copied, or does not run alone
        return False


def _outputs(module: nn.Module, call: recorded_calls.Call, backend: Callable[..., Any] | None) -> comparison.Snapshot:
    sample = call.sample(fresh.copied(module, fresh.is_large(module)))
    function = sample.function if backend is None else torch.compile(sample.function, backend=backend)
    seed()
    return comparison.snapshot(sample, function(*sample.args, **sample.kwargs))
