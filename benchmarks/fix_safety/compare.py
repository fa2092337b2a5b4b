"""What differs between two runs of a program: the kind of difference, where, and both sides in one line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from benchmarks.fix_safety.heap import ArrayNote, Note, Table, TensorNote
from benchmarks.fix_safety.observe import Call, Observation

#: The kinds of difference, in the order in which the table shows them.
KINDS = (
    "exception", "value", "type or dtype", "shape", "device", "requires_grad", "identity or aliasing", "gradient",
    "state", "random state", "output", "environment",
)  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """One thing that differs; ``before`` and ``after`` are one line each."""

    kind: str
    where: str
    before: str
    after: str


def differences(before: Observation, after: Observation, output: bool = True) -> list[Difference]:
    """What differs in the calls that the original made without an exception.

    ``output`` False leaves out what was printed, logged and warned of, for runs in which guards drop it by design.
    """
    found: list[Difference] = []
    for number, (first, second) in enumerate(zip(before.calls, after.calls, strict=False)):
        if first.exception:
            break
        if second.exception:
            found.append(Difference("exception", f"call {number}", "none", second.exception))
            break
        found += (
            Difference(d.kind, f"call {number}: {d.where}", d.before, d.after) for d in _call(first, second, output)
        )
        if found:
            break
    return found


def _call(before: Call, after: Call, output: bool) -> Iterator[Difference]:
    tables = list(_tables(before.heap, after.heap))
    yield from tables
    if not tables:
        yield from (replace(d, kind="state") for d in _tables(before.afterwards, after.afterwards))
    yield from _gradients(before, after)
    for name, state in before.random.items():
        if state != after.random[name]:
            yield Difference("random state", name, "as it was", "another")
    if before.environment != after.environment:
        yield Difference("environment", "os.environ", str(before.environment), str(after.environment))
    if output:
        for name, text in before.output.items():
            # A warning of an operator may go with the operator; a new one may not come.
            lost = name == "warnings of torch" and set(after.output[name].split("\n")) <= {*text.split("\n"), ""}
            if text != after.output[name] and not lost:
                yield Difference("output", name, repr(text)[:200], repr(after.output[name])[:200])


def _tables(before: Table, after: Table) -> Iterator[Difference]:
    for path in before.keys() | after.keys():
        if path not in before or path not in after:
            there = before.get(path, after.get(path))
            sides = (shown(there), "nothing") if path in before else ("nothing", shown(there))
            yield Difference(_kind_at(path, "type or dtype"), path, *sides)
        else:
            yield from _notes(path, before[path], after[path])


def _notes(path: str, before: Note, after: Note) -> Iterator[Difference]:
    if isinstance(before, str) or isinstance(after, str):
        if before != after:
            identity = shown(before).startswith("is ") or shown(after).startswith("is ")
            same_type = shown(before).split(" ")[0] == shown(after).split(" ")[0]
            kind = "identity or aliasing" if identity else "value" if same_type else "type or dtype"
            yield Difference(kind if identity else _kind_at(path, kind), path, shown(before), shown(after))
        return
    if type(before) is not type(after) or before.about != after.about:
        yield Difference(_kind_of_about(before.about, after.about), path, shown(before), shown(after))
        return
    if isinstance(before, TensorNote) and isinstance(after, TensorNote):
        if before.requires_grad != after.requires_grad:
            sides = str(before.requires_grad), str(after.requires_grad)
            yield Difference("requires_grad", path, *sides)
        if not same_bits(before.values, after.values):
            yield Difference(_kind_at(path, "value"), path, shown(before), shown(after))
    elif not np.array_equal(before.values, after.values, equal_nan=before.values.dtype.kind in "fc"):
        yield Difference(_kind_at(path, "value"), path, shown(before), shown(after))
    if before.storage != after.storage:
        sides = _shares(before.storage, path), _shares(after.storage, path)
        yield Difference("identity or aliasing", path, *sides)


def _kind_of_about(before: tuple[str, ...], after: tuple[str, ...]) -> str:
    """Which part differs of what is said of a tensor or an array: type, dtype, shape, device."""
    number = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    return ("type or dtype", "type or dtype", "shape", "device")[min(number, 3)]


def _shares(storage: str, path: str) -> str:
    return "memory of its own" if storage in ("", path) else f"shares memory with {storage}"


def _kind_at(path: str, kind: str) -> str:
    """What differs in arguments, modules and globals is state; in the result it is a value."""
    return kind if path.startswith("result") else "state"


def same_bits(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Equal in every element, with NaN equal to NaN and 0.0 unlike -0.0, which 1 / x tells apart."""
    if first.dtype.is_complex:
        return same_bits(torch.view_as_real(first.resolve_conj()), torch.view_as_real(second.resolve_conj()))
    if not first.dtype.is_floating_point:
        return torch.equal(first, second)
    if first.element_size() == 1:
        first, second = first.float(), second.float()
    if not torch.equal(torch.nan_to_num(first, 0.0, 1.0, 2.0), torch.nan_to_num(second, 0.0, 1.0, 2.0)):
        return False
    kinds = (
        (first.isnan(), second.isnan()),
        (first.isposinf(), second.isposinf()),
        (first.isneginf(), second.isneginf()),
    )
    if not all(torch.equal(a, b) for a, b in kinds):
        return False
    numbers = ~first.isnan()
    return torch.equal(torch.signbit(first) & numbers, torch.signbit(second) & numbers)


def _gradients(before: Call, after: Call) -> Iterator[Difference]:
    if before.backward_error:
        return
    if after.backward_error:
        yield Difference("gradient", "backward", "none", after.backward_error)
        return
    for path in before.gradients.keys() & after.gradients.keys():
        first, second = before.gradients[path], after.gradients[path]
        if (first is None) != (second is None) or (
            first is not None and second is not None and not same_gradient(first, second)
        ):
            yield Difference("gradient", path, _values(first), _values(second))


def same_gradient(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Equal but for rounding, with NaN and each infinity in the same places.

    Autograd adds what comes from several uses of a tensor, in an order that the number of its operators may change; so
    the last bits and the sign of a zero are no difference.
    """
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    if first.dtype.is_complex:
        return same_gradient(torch.view_as_real(first.resolve_conj()), torch.view_as_real(second.resolve_conj()))
    if first.element_size() == 1:
        return same_bits(first, second)
    tolerance = 16 * torch.finfo(first.dtype).eps
    return torch.allclose(first, second, rtol=tolerance, atol=0.0, equal_nan=True)


def shown(note: Any) -> str:
    """A note in one line."""
    if isinstance(note, TensorNote):
        return f"{' '.join(note.about[:3])} {_values(note.values)}"
    if isinstance(note, ArrayNote):
        return f"{' '.join(note.about)} {note.values.tolist()}"[:200]
    return str(note)[:200]


def _values(tensor: torch.Tensor | None) -> str:
    if tensor is None or tensor.is_meta:
        return "None" if tensor is None else "without values"
    return str(tensor.tolist())[:120]
