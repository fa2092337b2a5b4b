"""Why frames were compiled again: the failed guards of a sequence of calls, joined with what differs between them."""

from __future__ import annotations

import linecache
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch

from graphdoctor.breaks.locations import Places
from graphdoctor.breaks.recompiles import guards
from graphdoctor.breaks.recompiles.decisive_guard import Compilations
from graphdoctor.breaks.recompiles.guarded_names import is_set_by_constructor
from graphdoctor.dynamic.recompiles.compiled_calls import Call, Code
from graphdoctor.model.runs import SweepCall

#: An input, and the dimension whose size differs; None for anything but a size.
Difference = tuple[str, int | None]


#: Kinds of guards in which the arguments and parameters of submodules differ.
_OF_ARGUMENTS = ("size", "stride", "rank", "requires_grad", "dtype", "type", "presence")
#: Kinds of guards on state that is kept from call to call.
_KEPT = ("attribute", "global")


@dataclass(frozen=True)
class Cause:
    """One reason to compile again. ``calls`` are the numbers, from 0, of the calls that failed the guard, ``zero_one``
    those of them that came with a size of 0 or 1.

    ``at_limit``: Dynamo gave up (a reason is recorded, and no compilation starts).
    """

    guard: guards.Guard
    code: Code
    input: str | None
    dimension: int | None
    others: tuple[Difference, ...]
    calls: tuple[int, ...]
    at_limit: bool = False
    zero_one: tuple[int, ...] = ()
    #: The function is called several times in one call, each time with values of its own.
    shared: bool = False

    @property
    def words(self) -> str:
        """The cause in one sentence."""
        others = [name if dimension is None else f"{name} in dimension {dimension}" for name, dimension in self.others]
        through = f" (through the input {self.input})" if self._is_indirect() else ""
        also = f" (also changed: {', '.join(others[:5])})" if others else ""
        return self.guard.words + through + also

    def _is_indirect(self) -> bool:
        return self.input is not None and self.guard.name is not None and self.input not in self.guard.words


def causes(calls: Sequence[Call]) -> list[Cause]:
    """The distinct causes, in the order in which they came up."""
    frames = {start.frame: (start.path, start.line) for call in calls for start in call.recording.starts}
    # What runs in each round of a loop behind a break is compiled again in the first call already.
    first = calls[0].recording.recompiles if calls else ()
    repeated = {frames[failed.frame] for failed in first if failed.frame in frames}
    found: dict[tuple[object, ...], Cause] = {}
    compilations = Compilations()
    for number, (previous, call) in enumerate(pairwise(calls), 1):
        started = {(start.frame, start.attempt) for start in call.recording.starts}
        changed = changes(previous.inputs, call.inputs)
        for failed in call.recording.recompiles:
            code = frames[failed.frame]
            is_shared = code in repeated or call.is_called_inside(code)
            at_limit = (failed.frame, failed.attempt) not in started
            kept = next((key for key, each in found.items() if each.code == code and each.guard.kind in _KEPT), None)
            if at_limit and is_shared and kept is not None:
                found[kept] = replace(found[kept], at_limit=True)
                continue
            guard = compilations.guard_of(failed.reasons, failed.frame, failed.attempt)
            guard = _guard_of_change(failed.reasons, changed, call) if is_shared else guard
            name, dimension = _at_fault(guard, changed, call)
            others = tuple(c for c in changed if c != (name, dimension))
            is_of_submodule = guard.kind in _OF_ARGUMENTS and not _is_changed_size(guard, changed, call)
            is_of_submodule = is_of_submodule or _is_inner_length(guard, call)
            shared = is_shared and (is_of_submodule or at_limit or differs_by_instance(guard, code))
            made = Cause(guard, code, None if shared else name, dimension, () if shared else others, (), shared=shared)
            # After a break the rest of the function is a frame of its own, and fails the same guard again.
            key = code if shared else (guard.kind, name or guard.name, dimension)
            known = found.setdefault(key, made)
            found[key] = replace(
                known,
                calls=tuple(dict.fromkeys((*known.calls, number))),
                zero_one=tuple(dict.fromkeys((*known.zero_one, *([number] if guard.zero_one else [])))),
                at_limit=known.at_limit or at_limit,
            )
    return list(found.values())


def differs_by_instance(guard: guards.Guard, code: Code) -> bool:
    """Whether ``guard`` is on an attribute that only the constructor sets: it differs by instance, and not by call."""
    name = (guard.name or "").removeprefix("self.")
    text = "".join(linecache.getlines(code[0]))
    return guard.kind == "attribute" and name.isidentifier() and is_set_by_constructor(text, name)


def _guard_of_change(reasons: Sequence[str], changed: list[Difference], call: Call) -> guards.Guard:
    """The guard that names what changed between the calls. The first one that Dynamo names may belong to the code of
    another submodule.

    Where the inputs are the same, state that the code keeps has changed, if a guard is on any.
    """
    read = [guards.read(reason) for reason in reasons]
    told = (guard for guard in read if _is_changed_size(guard, changed, call) or (not changed and guard.kind in _KEPT))
    return next(told, read[0])


def _is_changed_size(guard: guards.Guard, changed: list[Difference], call: Call) -> bool:
    """Whether the guard is about a size that differs between the calls: other names are those of inner arguments."""
    return guard.kind == "size" and guard.dimension is not None and _at_fault(guard, changed, call) in changed


def _is_inner_length(guard: guards.Guard, call: Call) -> bool:
    """Whether the guard is on the length of an argument that an inner function gets, and not of what is kept."""
    name = guard.name or ""
    return guard.kind == "length" and not name.startswith(("self.", "G[")) and _root(name) not in call.names


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """What differs between the inputs of two calls."""
    found: list[Difference] = [(name, None) for name in {**before, **after} if (name in before) != (name in after)]
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


def steps(calls: Sequence[Call]) -> tuple[SweepCall, ...]:
    """What each call compiled, and what of its inputs differs from those of the call before."""
    before: list[Call | None] = [None, *calls]
    return tuple(
        SweepCall(len({start.frame for start in call.recording.starts}), _differences(previous, call))
        for previous, call in zip(before, calls, strict=False)
    )


def _differences(previous: Call | None, call: Call) -> str:
    if previous is None:
        return ""
    found = []
    for name, dimension in changes(previous.inputs, call.inputs)[:3]:
        if dimension is None:
            found.append(f"{name} changed")
        else:
            old, new = (each.inputs[name].shape[dimension] for each in (previous, call))
            found.append(f"{name}: {old} -> {new} in dimension {dimension}")
    return ", ".join(found)


def _at_fault(guard: guards.Guard, changed: list[Difference], call: Call) -> tuple[str | None, int | None]:
    """The input and dimension that the guard looks at; the only change, when it looks at something made from it."""
    if guard.kind in ("attribute", "mode", "global", "state") or guard.name is None:
        return None, None
    if guard.name.startswith(("self.", "G[")):
        return None, None
    read = [name for name in call.inputs if _mentions(guard.name, name)]
    # Of two that the guard compares, the one that changed.
    for name, dimension in sorted(changed, key=lambda c: c[0] not in read):
        if name in read and guard.dimension in (None, dimension):
            return name, dimension
    if read:
        return read[0], guard.dimension
    if (root := _root(guard.name)) in call.names:
        # A container of inputs, or a function: what is compared is part of it.
        return guard.name if guard.kind == "length" else root, None
    if len(changed) == 1:
        return changed[0]
    return None, None


def _mentions(expression: str, name: str) -> bool:
    return re.search(rf"(?<![\w.\]]){re.escape(name)}(?!\w)", expression) is not None


def _root(name: str) -> str:
    match = re.match(r"\w+", name)
    return match[0] if match else ""


def place(cause: Cause, places: Places) -> tuple[str, int]:
    """The line of the user's code that made Dynamo guard; the first line of the function where it names none."""
    for path, line in reversed(cause.guard.stack):
        if places.kind(path) == "own":
            return places.show(path), line
    first = cause.code
    if cause.guard.path is None or cause.guard.line is None:
        return places.show(first[0]), first[1]
    # Dynamo shortens the path of the guarded line from the left.
    files = (first[0], *sorted(filter(None, (getattr(m, "__file__", None) for m in list(sys.modules.values())))))
    for path in files:
        if path.endswith(os.sep + cause.guard.path) and places.kind(path) == "own":
            return places.show(path), cause.guard.line
    return places.show(first[0]), first[1]
