"""Does compiling change the answer? All that a call leaves behind, with each backend against eager."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from graphdoctor.dynamic.layers import inductor
from graphdoctor.dynamic.numerics import observed, reference
from graphdoctor.dynamic.numerics.comparison import Snapshot
from graphdoctor.dynamic.user_code import pytree
from graphdoctor.dynamic.user_code.target import Mode, Sample, Target
from graphdoctor.model.audit import Audit, Audited, Deviation, Oracle

#: Calls a sample, or the function that it was compiled to: its outputs, and the loss that went backward.
Answer = Callable[[Sample, "Callable[..., Any] | None"], tuple[Any, "torch.Tensor | None"]]
Backend = Callable[..., Any]

#: Each adds a layer to the one before it.
_BACKENDS = ("eager", "aot_eager", "inductor")
_SIDES = ("eager", "the compiled code")
_LAYOUT = "the strides of "
_KEY = re.compile(r"\[.*?\]")
_COMPILERS = (f"{observed.STATE}environment variable ", "the setting ")
#: Leaves that can be compared although compiled code may draw other random numbers than eager.
_WITHOUT_VALUES = ("aliasing", "metadata", "exceptions")
#: What a leaf is about, by how its name begins; the rest is state.
_BY_NAME: tuple[tuple[str, Oracle], ...] = (
    (observed.MEMORY, "aliasing"),
    (observed.GRADIENT, "metadata"),
    (observed.DEVICE, "metadata"),
    (_LAYOUT, "metadata"),
    (observed.GRADIENT_OF, "gradients"),
    ("output", "outputs"),
    (observed.LOSS, "outputs"),
)


@dataclass(frozen=True)
class _Call:
    """What a call left behind, or what it raised."""

    found: Snapshot
    error: Exception | None = None


def audit(
    target: Target,
    mode: Mode,
    answer: Answer,
    modules: Sequence[ModuleType],
    backends: Mapping[str, Backend] | None = None,
    made: Callable[[str], Backend] = inductor.Kept,
) -> Audit:
    """Compare ``backends`` with eager, one after the other up to the first that differs.

    A leaf that differs between two eager runs is not judged, and neither is one that eager itself computes no more
    exactly, measured against a wider dtype. ``modules`` are those whose globals a call may write to. ``made`` makes the
    backends by their names, where ``backends`` does not have them.
    """
    audited = _Audit(target, mode, answer, modules)
    with torch.compiler.set_stance("force_eager"):
        eager, again = audited.call(), audited.call()
    noise = {name for name, _ in observed.differences(eager.found, again.found)}
    found: list[Audited] = []
    for name in backends or _BACKENDS:
        layer = inductor.LAYERS.get(name, name)
        if backends is None and (reason := inductor.missing(name)):
            found.append(Audited(name, "skipped", layer, detail=reason))
            continue
        backend = backends[name] if backends is not None else made(name)
        torch._dynamo.reset()
        with inductor.settings():
            compiled = audited.call(backend)
            deviations = tuple(audited.deviations(eager, compiled, noise))
        drawn = _drawn(eager.found, compiled.found, noise)
        if drawn:
            deviations = tuple(d for d in deviations if d.oracle in _WITHOUT_VALUES)
        detail = f"values not judged, it draws other random numbers ({', '.join(drawn)})" if drawn else ""
        found.append(Audited(name, "differs" if deviations else "same", layer, deviations, detail))
        if deviations:
            break
    return Audit(tuple(found), detail=_unjudged(noise))


class _Audit:
    def __init__(self, target: Target, mode: Mode, answer: Answer, modules: Sequence[ModuleType]) -> None:
        self._target = target
        self._mode = mode
        self._answer = answer
        self._modules = modules
        self._double: list[Snapshot | None] = []

    def call(self, backend: Backend | None = None) -> _Call:
        """What a fresh sample leaves behind, compiled with ``backend``."""
        sample = self._target.sample(self._mode)
        function = None if backend is None else _compiled(sample, backend)
        try:
            return _Call(self._observed(sample, function))
        except Exception as error:
            return _Call({}, error)

    def deviations(self, eager: _Call, compiled: _Call, noise: set[str]) -> Iterator[Deviation]:
        """Each difference that is more than rounding."""
        if eager.error is not None or compiled.error is not None:
            yield from _raised(eager.error, compiled.error)
            return
        for name, text in observed.differences(eager.found, compiled.found, _SIDES):
            if name in noise or _is_left_open(name, eager.found.get(name), compiled.found.get(name)):
                continue
            if not self._is_rounding(name, eager.found, compiled.found):
                yield Deviation(_oracle(name, text), text)

    def _observed(self, sample: Sample, function: Callable[..., Any] | None) -> Snapshot:
        results: list[Any] = []

        def call(called: Sample) -> tuple[Any, torch.Tensor | None]:
            outputs, loss = self._answer(called, function)
            results.append(outputs)
            return outputs, loss

        found = observed.observe(sample, call, self._modules)
        return {**found, **_layouts(results[0])}

    def _is_rounding(self, name: str, eager: Snapshot, compiled: Snapshot) -> bool:
        one, other = eager.get(name), compiled.get(name)
        if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor) or one.dtype != other.dtype:
            return False
        if not self._double:
            self._double.append(
                reference.in_wider_dtype(self._target, self._mode, lambda sample: self._observed(sample, None))
            )
        exact = self._double[0]
        return bool(exact and reference.cleared({name: one}, {name: other}, exact))


def _compiled(sample: Sample, backend: Backend) -> Callable[..., Any]:
    """Compiled with ``backend``, which the module does not hold.

    Lightning's ``torch.compile`` keeps its arguments there, and what a backend keeps is no state of the model.
    """
    module = sample.module
    before = set(vars(module)) if module is not None else set()
    function: Callable[..., Any] = torch.compile(sample.function, backend=backend)
    if module is not None:
        for name in set(vars(module)) - before:
            delattr(module, name)
    return function


def _drawn(eager: Snapshot, compiled: Snapshot, noise: set[str]) -> list[str]:
    """The generators of random numbers whose state differs afterwards: ``torch's``, ``numpy's``."""
    names = [name for name, _ in observed.differences(eager, compiled) if name.startswith(observed.RANDOM)]
    found = (name.removeprefix(observed.RANDOM).partition(" ")[0] for name in names if name not in noise)
    return sorted(found) if eager and compiled else []


def _is_left_open(name: str, eager: Any, compiled: Any) -> bool:
    """What a compiler may do: write its own settings, and give memory of its own to results that shared it in eager.

    Memory shared with what the caller gave, and with parameters and buffers, has to stay shared.
    """
    if name.startswith(_COMPILERS):
        return True
    shared = ("shared with input", "shared with parameter", "shared with buffer")
    return name.startswith(observed.MEMORY) and compiled == observed.OWN and not str(eager).startswith(shared)


def _layouts(outputs: Any) -> Snapshot:
    """The strides of the outputs in the dimensions where they have an effect.

    Not of what objects hold, as a cache of keys and values: Inductor keeps the strides of what a graph returns alone.
    """
    leaves = pytree.leaves(outputs, "output").items()
    returned = ((name, leaf) for name, leaf in leaves if "." not in _KEY.sub("", name))
    tensors = ((name, leaf) for name, leaf in returned if isinstance(leaf, torch.Tensor))
    return {
        f"{_LAYOUT}{name}": tuple(s for s, size in zip(leaf.stride(), leaf.shape, strict=True) if size > 1)
        for name, leaf in tensors
        if leaf.layout is torch.strided and leaf.numel()
    }


def _raised(eager: Exception | None, compiled: Exception | None) -> Iterator[Deviation]:
    if eager is None or compiled is None:
        error, (who, other) = (eager, _SIDES) if compiled is None else (compiled, _SIDES[::-1])
        assert error is not None
        yield Deviation("exceptions", f"{who} raises {_text(error)}, and {other} does not")
    # Dynamo raises errors of operators as classes of its own, below the class that eager raises.
    elif not any(kind.__name__ == type(eager).__name__ for kind in type(_inner(compiled)).__mro__):
        yield Deviation("exceptions", f"eager raises {_text(eager)}, and the compiled code {_text(compiled)}")


def _inner(error: Exception) -> Exception:
    """What a backend raised, without what Dynamo wraps around it."""
    inner = getattr(error, "inner_exception", None)
    return inner if isinstance(inner, Exception) else error


def _text(error: Exception) -> str:
    """The class of an error and its text; where it wraps what a backend raised, the text of that."""
    inner = _inner(error)
    outer = f"{type(error).__name__}: " if inner is not error else ""
    return f"{outer}{observed.of_error(inner, lambda _file: False)[observed.TEXT]}"


def _oracle(name: str, text: str) -> Oracle:
    oracle: Oracle = next((oracle for start, oracle in _BY_NAME if name.startswith(start)), "state")
    is_kind = text.startswith((f"{name}: shapes ", f"{name}: dtypes "))
    return "metadata" if oracle == "outputs" and is_kind else oracle


def _unjudged(noise: set[str]) -> str:
    named = sorted(noise)
    more = f" and {len(named) - 3} more" if len(named) > 3 else ""
    return f"not judged, since two eager runs differ in it: {', '.join(named[:3])}{more}" if named else ""
