"""Call the variants in order on one compiled function: what is compiled again, and which input made it so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch
from torch import nn

from graphdoctor.dynamic import guards, tree
from graphdoctor.dynamic.capture import Recording, record
from graphdoctor.dynamic.places import Places
from graphdoctor.dynamic.target import Mode, Target
from graphdoctor.model import Recompile

#: Settings that may help, by kind of guard: keywords of torch.compile, and patches of torch._dynamo.config.
SETTINGS: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "size": ({"dynamic": True}, {}),
    "value": ({"dynamic": True}, {}),
    "attribute": ({}, {"allow_unspec_int_on_nn_module": True}),
}

#: File and first line of a function.
Code = tuple[str, int]

#: What is added to a cause when Dynamo gives up: a reason is recorded, and no compilation starts.
AT_LIMIT = "; the recompile limit was reached, and later calls run uncompiled"


@dataclass(frozen=True)
class Call:
    """What one variant made Dynamo record, and its inputs as leaves."""

    recording: Recording
    inputs: Mapping[str, Any]


def probe(target: Target, mode: Mode, backend: Callable[..., Any], places: Places) -> tuple[Recompile, ...]:
    """Run the variants by default, then again under the settings that may help. Raises what the user's code raises."""
    calls = _sequence(target, mode, backend, {}, {})
    counts = compilations(calls)
    found = recompiles(calls, places)
    verified = {
        kind: _under(target, mode, backend, *SETTINGS[kind]) for kind in {kind for kind, _, _ in found} & set(SETTINGS)
    }
    return tuple(
        replace(r, compilations=counts[code], verified_compilations=(verified.get(kind) or {}).get(code))
        for kind, code, r in found
    )


def _under(
    target: Target, mode: Mode, backend: Callable[..., Any], keywords: dict[str, Any], config: dict[str, Any]
) -> dict[Code, int] | None:
    """Compilations under a setting; None when the setting makes the sequence fail."""
    try:
        return compilations(_sequence(target, mode, backend, keywords, config))
    except Exception:  # a dimension that must be static, for one
        return None


def _sequence(
    target: Target, mode: Mode, backend: Callable[..., Any], keywords: dict[str, Any], config: dict[str, Any]
) -> list[Call]:
    torch._dynamo.reset()
    sample = target.sample(mode)
    function = torch.compile(sample.function, backend=backend, **keywords)
    calls: list[Call] = []
    with torch._dynamo.config.patch(config) if config else nullcontext():
        for args, kwargs in target.calls():
            with record() as recording:
                function(*args, **kwargs)
            names = _argument_names(sample.function, args)
            calls.append(Call(recording, _leaves(names, args, kwargs)))
    return calls


def compilations(calls: list[Call]) -> dict[Code, int]:
    """How often each function was compiled. (Dynamo numbers frames anew in each sequence, so the place is the key.)"""
    starts = [start for call in calls for start in call.recording.starts]
    counts: dict[Code, int] = {}
    for (_, code), count in Counter((start.frame, (start.path, start.line)) for start in starts).items():
        counts[code] = max(count, counts.get(code, 0))
    return counts


def recompiles(calls: list[Call], places: Places) -> list[tuple[str, Code, Recompile]]:
    """The distinct causes: (kind of guard, function that was compiled again, recompile), each once."""
    frames = {start.frame: (start.path, start.line) for call in calls for start in call.recording.starts}
    found: dict[tuple[object, ...], tuple[str, Code, Recompile]] = {}
    for previous, call in pairwise(calls):
        started = {(start.frame, start.attempt) for start in call.recording.starts}
        changed = changes(previous.inputs, call.inputs)
        for failed in call.recording.recompiles:
            guard, code = guards.read(failed.reasons[0]), frames[failed.frame]
            made = _recompile(guard, code, changed, places)
            # After a break the rest of the function is a frame of its own, and fails the same guard again.
            key = (guard.kind, made.input or guard.name, made.dimension)
            _, code, known = found.setdefault(key, (guard.kind, code, made))
            at_limit = (failed.frame, failed.attempt) not in started
            if at_limit and not known.cause.endswith(AT_LIMIT):
                found[key] = guard.kind, code, replace(known, cause=known.cause + AT_LIMIT)
    return list(found.values())


def _recompile(guard: guards.Guard, code: Code, changed: list[tuple[str, int | None]], places: Places) -> Recompile:
    name, dimension = _at_fault(guard, changed)
    others = [f"{n}{'' if d is None else f' in dimension {d}'}" for n, d in changed if (n, d) != (name, dimension)]
    also = f" (also changed: {', '.join(others[:5])})" if others else ""
    path, first_line = code
    # Dynamo shortens the path of the guarded line from the left.
    in_file = guard.path is not None and path.endswith(guard.path)
    return Recompile(
        cause=guard.words + also,
        guard=guard.text,
        input=name,
        dimension=dimension,
        path=places.show(path),
        line=guard.line if in_file else first_line,
        compilations=0,
        remedy=guards.REMEDIES.get(guard.kind),
    )


def _at_fault(guard: guards.Guard, changed: list[tuple[str, int | None]]) -> tuple[str | None, int | None]:
    """The input and dimension that the guard names; the only change, when it names none."""
    if guard.kind in ("attribute", "global", "state", "lifetime") or (guard.name or "").startswith("self."):
        return None, None
    for name, dimension in changed:
        if guard.name == name and guard.dimension in (None, dimension):
            return name, dimension
    # Names like ___stack0 are Dynamo's, for what a graph break left on the stack.
    if (guard.name is None or guard.name.startswith("_")) and len(changed) == 1:
        return changed[0]
    return guard.name, guard.dimension


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, int | None]]:
    """What differs between the inputs of two calls: (name, dimension), dimension None for anything but a size."""
    found: list[tuple[str, int | None]] = [
        (name, None) for name in {**before, **after} if (name in before) != (name in after)
    ]
    for name in before:
        if name not in after:
            continue
        a, b = before[name], after[name]
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            if a.ndim == b.ndim:
                found += [(name, d) for d in range(a.ndim) if a.shape[d] != b.shape[d]]
            if a.ndim != b.ndim or a.dtype != b.dtype or a.requires_grad != b.requires_grad:
                found.append((name, None))
        elif type(a) is not type(b) or a != b:
            found.append((name, None))
    return found


def _leaves(names: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in [*zip(names, args, strict=True), *kwargs.items()]:
        found |= tree.leaves(value, name)
    return found


def _argument_names(function: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    """The parameter names of the positional arguments, as guards name them."""
    called = function.forward if isinstance(function, nn.Module) else function
    code = getattr(called, "__code__", None)
    names = list(code.co_varnames[: code.co_argcount]) if code else []
    if hasattr(called, "__self__"):
        names = names[1:]
    return [*names[: len(args)], *(f"argument {i}" for i in range(len(names), len(args)))]
