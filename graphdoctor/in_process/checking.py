"""``graphdoctor.check``: one call of a model, compiled in the process of the caller, which is left as it was."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import torch
from torch import nn

from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.tracing import crosscheck
from graphdoctor.dynamic.tracing.line_coverage import executed_lines
from graphdoctor.in_process import listing, session
from graphdoctor.in_process.joined import Traced, diagnosis_of
from graphdoctor.in_process.result import Result
from graphdoctor.model.runs import FullGraph

#: Calls with equal arguments. What changes once is a warm-up; what changes from the second to the third goes on.
_CALLS = 3


def check(model: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Result:
    """Compile ``model`` as ``torch.compile`` does, call it with these arguments, and say what stands in the way.

    ``model`` is a module or a function, compiled or not, on any device and in any mode. It runs in this process: three
    times compiled with equal arguments, once with ``fullgraph=True`` and once in eager, with Dynamo and without a
    backend compiler. Arguments are copied; the model, random states and Dynamo's caches and settings are put back.

    Raises what the model itself raises.
    """
    __tracebackhide__ = True
    call = (args, kwargs)
    compiled = listing.compile_and_call(model, [call] * _CALLS)
    strict = listing.compile_and_call(model, [call], fullgraph=True)
    inner = session.uncompiled(model)

    def fullgraph(places: Places) -> FullGraph:
        if strict.error is not None:
            return crosscheck.failure(strict.error, places)
        return FullGraph(not (strict.breaks or strict.uncompiled))

    def lines(files: Sequence[str]) -> Mapping[str, set[int]]:
        with session.untouched(inner), torch.compiler.set_stance("force_eager"), executed_lines(files) as found:
            inner(*session.copied(args), **session.copied(kwargs))
        return found

    traced = Traced(
        name=listing.name_of(inner),
        mode=_mode(inner),
        device=_device(inner, (args, kwargs)),
        graphs=compiled.graphs,
        operators=compiled.operators,
        events=compiled.events,
        recording=compiled.recording,
        target=_top_level_name(inner),
        lines=lines,
        fullgraph=fullgraph,
    )
    return Result(diagnosis_of(traced, f"graphdoctor.check({traced.name}, ...)"))


def _module_of(model: Callable[..., Any]) -> nn.Module | None:
    """The module that is called, or whose method is."""
    owner = getattr(model, "__self__", model)
    return owner if isinstance(owner, nn.Module) else None


def _mode(model: Callable[..., Any]) -> Literal["eval", "train"]:
    module = _module_of(model)
    return "train" if module is not None and module.training else "eval"


def _device(model: Callable[..., Any], arguments: Any) -> str:
    """The device of the model, or of its arguments where it has no tensors."""
    from graphdoctor.dynamic.user_code.pytree import tensors

    module = _module_of(model)
    own = next(module.parameters(), None) if module is not None else None
    first = own if own is not None else next(iter(tensors(arguments)), None)
    return str(first.device) if first is not None else "cpu"


def _top_level_name(model: Callable[..., Any]) -> str | None:
    """The name of the class or function in its file; None where it is defined in another function or class."""
    while isinstance(model, functools.partial):
        model = model.func
    definition: Any = type(model) if isinstance(model, nn.Module) else inspect.unwrap(model)
    name = getattr(definition, "__qualname__", "")
    return name if name.isidentifier() and name != "<lambda>" else None
