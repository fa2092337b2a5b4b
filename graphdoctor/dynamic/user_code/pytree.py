"""Nested values (arguments, outputs): walk them, copy them, move them, take them apart into named leaves."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import nn

#: Objects are opened to this depth.
_DEPTH = 8
#: What the name of a leaf ends in that is an array or a scalar of numpy.
OF_NUMPY = " (numpy)"
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def leaves(value: Any, name: str) -> dict[str, Any]:
    """``value`` as path -> leaf, a leaf being a tensor or a Python constant.

    Opens mappings, sequences, dataclasses and plain objects (a key-value cache). What cannot be compared is left out:
    modules, functions, iterators, objects without attributes.
    """
    found: dict[str, Any] = {}
    _collect(value, name, found, set(), _DEPTH)
    return found


def described(tensor: torch.Tensor) -> str:
    """``float32[8, 16]``."""
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in ``value``."""
    return (leaf for leaf in leaves(value, "").values() if isinstance(leaf, torch.Tensor))


def _collect(value: Any, name: str, found: dict[str, Any], seen: set[int], depth: int) -> None:
    numpy = sys.modules.get("numpy")
    if isinstance(value, (torch.Tensor, *_PLAIN)):
        found[name] = value
    elif numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        # Under its own name: torch.compile may return an array where eager returns a tensor.
        if value.dtype.kind in "biufc":
            found[f"{name}{OF_NUMPY}"] = torch.from_numpy(numpy.array(value))
    elif depth > 0 and id(value) not in seen and not isinstance(value, nn.Module) and not callable(value):
        for part, child in _children(value):
            _collect(child, name + part, found, seen | {id(value)}, depth - 1)


def plain(value: Any) -> Any:
    """A number or text of a class of its own, ``numpy.float64`` or an ``Enum``, as one of Python that can be saved."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    return bytes(value) if isinstance(value, bytes) else complex(value)


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((f"[{key!r}]", child) for key, child in value.items())
    elif isinstance(value, (list, tuple)):
        names = getattr(value, "_fields", None)
        yield from ((f".{names[i]}" if names else f"[{i}]", child) for i, child in enumerate(value))
    elif dataclasses.is_dataclass(value):
        yield from ((f".{f.name}", getattr(value, f.name, None)) for f in dataclasses.fields(value))
    elif hasattr(value, "__dict__"):
        yield from ((f".{key}", child) for key, child in vars(value).items() if not key.startswith("__"))


def map_tensors(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """``value`` with each tensor in its lists, tuples and dicts replaced by ``change(tensor)``; the same object twice
    stays one object."""
    return _map(value, change, {})


def _map(value: Any, change: Callable[[torch.Tensor], torch.Tensor], done: dict[int, Any]) -> Any:
    if id(value) in done:
        return done[id(value)]
    if isinstance(value, torch.Tensor):
        result: Any = change(value)
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        result = type(value)(*(_map(v, change, done) for v in value))
    elif type(value) in (list, tuple):
        result = type(value)(_map(v, change, done) for v in value)
    elif isinstance(value, dict):
        result = value.copy()
        for key in value:
            result[key] = _map(value[key], change, done)
    else:
        return value
    done[id(value)] = result
    return result


def clone(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A leaf with the same data, strides and ``requires_grad``, without marks (``mark_dynamic``) of the original."""
    source = tensor.detach()
    if source.layout is torch.strided and type(tensor) is torch.Tensor:
        # Tensor.clone() makes views with gaps contiguous, and Dynamo guards on strides.
        copy = torch.empty(0, dtype=source.dtype, device=source.device)
        storage = source.untyped_storage().clone()  # type: ignore[no-untyped-call]
        copy.set_(storage, source.storage_offset(), source.size(), source.stride())
    else:
        copy = source.clone()
    return copy.to(device).requires_grad_(tensor.requires_grad)
