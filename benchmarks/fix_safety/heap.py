"""What can be reached from the results, arguments and state of a program, as a flat table that two runs can compare.

Every value stands under the path on which it is found first. A second path to the same object says which one it is, and
a tensor says with whom it shares its storage: two tables are equal only where a later write would show in the same
places. Sizes in memory, strides and the payload of NaN are not part of it.
"""

from __future__ import annotations

import collections
import io
import itertools
import operator
import queue
import random
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

#: What ``nn.Module`` keeps about itself: hooks, which no program of the grammar sets.
_HOOKS = "hooks"

#: In texts: addresses, which no two runs share, and the operator that a tensor is printed with, which a rewrite may
#: change where nothing else does.
_INCIDENTAL = re.compile(r"0x[0-9a-f]{6,}|grad_fn=<\w+>")

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), slice, range)
_PLAIN_TORCH = (torch.dtype, torch.device, torch.layout, torch.memory_format)
_ITERATORS = (type(iter([])), type(iter(())), type(iter(range(0))), type(reversed([])), type(iter({}.keys())))

_FIXED = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, *_PLAIN_TORCH)


@dataclass(frozen=True)
class TensorNote:
    """A tensor as it was: everything but its values in ``about``, the values in a copy."""

    about: tuple[str, ...]
    requires_grad: bool
    storage: str
    values: torch.Tensor = field(compare=False)


@dataclass(frozen=True)
class ArrayNote:
    """An array of numpy, as it was."""

    about: tuple[str, ...]
    storage: str
    values: Any = field(compare=False)


Note = TensorNote | ArrayNote | str
Table = dict[str, Note]


def lasting(text: str) -> str:
    """``text`` without what differs from run to run."""
    return _INCIDENTAL.sub("...", text)


class Heap:
    """Walks what is reachable from named roots, in order, and notes each value once."""

    def __init__(self, module: types.ModuleType) -> None:
        self.table: Table = {}
        self.tensors: dict[str, torch.Tensor] = {}
        self._module = module
        self._seen: dict[int, str] = {}
        self._storages: dict[int, str] = {}
        self._held: dict[str, Any] = {}

    def add(self, path: str, value: Any) -> None:
        """Note ``value`` and what can be reached from it under ``path``."""
        waiting = [(path, value)]
        while waiting:
            where, current = waiting.pop()
            if isinstance(current, _PLAIN):
                self.table[where] = f"{type(current).__name__} {_text(current)}"
                continue
            if id(current) in self._seen:
                self.table[where] = f"is {self._seen[id(current)]}"
                continue
            self._seen[id(current)] = where
            self._held[where] = current
            if isinstance(current, torch.Tensor):
                self.tensors[where] = current
                self.table[where] = self._tensor(where, current)
            elif isinstance(current, (np.ndarray, np.generic)):
                self.table[where] = self._array(where, current)
            else:
                self.table[where] = self._label(current)
                waiting += [(f"{where}{step}", part) for step, part in reversed(list(self._parts(current)))]

    def objects(self) -> dict[str, Any]:
        """The objects that can change, by their paths: whoever holds one sees what becomes of it."""
        return {path: held for path, held in self._held.items() if not isinstance(held, _FIXED)}

    def _tensor(self, path: str, value: torch.Tensor) -> TensorNote:
        about = (
            type(value).__qualname__,
            str(value.dtype),
            str(tuple(value.shape)),
            str(value.device),
            str(value.layout),
        )
        pointer = value.untyped_storage().data_ptr() if value.layout is torch.strided else 0
        storage = self._storages.setdefault(pointer, path) if pointer else ""
        return TensorNote(about, value.requires_grad, storage, value.detach().clone())

    def _array(self, path: str, value: Any) -> ArrayNote:
        owner = value
        while isinstance(owner, np.ndarray) and owner.base is not None:
            owner = owner.base
        if isinstance(owner, torch.Tensor):
            pointer = owner.untyped_storage().data_ptr()
        else:
            pointer = owner.__array_interface__["data"][0] if isinstance(owner, np.ndarray) and owner.size else 0
        storage = self._storages.setdefault(pointer, path) if pointer else ""
        return ArrayNote((type(value).__name__, str(value.dtype), str(value.shape)), storage, np.array(value))

    def _label(self, value: Any) -> str:
        """What is said of an object itself, without its parts."""
        kind = type(value).__qualname__
        if isinstance(value, io.StringIO):
            return f"{kind} {lasting(value.getvalue())!r}"
        if isinstance(value, _ITERATORS):
            return f"{kind} with {operator.length_hint(value)} left"
        if isinstance(value, types.GeneratorType):
            frame = value.gi_frame
            return f"{kind} at {None if frame is None else frame.f_lasti}"
        if isinstance(value, itertools.count):
            return f"{kind} {value!r}"
        if isinstance(value, random.Random):
            return f"{kind} {hash(value.getstate())}"
        if isinstance(value, torch.Generator):
            return f"{kind} {hash(bytes(value.get_state().tolist()))}"
        if isinstance(value, _PLAIN_TORCH):
            return f"{kind} {value}"
        if isinstance(value, (set, frozenset)):
            return f"{kind} {sorted(map(repr, value))}"
        if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)):
            return f"{kind} {value.__qualname__}"
        return kind

    def _parts(self, value: Any) -> Iterator[tuple[str, Any]]:
        """The parts of an object, each with the step that leads to it."""
        if isinstance(value, Mapping):
            yield from ((f"[{key!r}]", part) for key, part in value.items())
        elif isinstance(value, (list, tuple, collections.deque)):
            yield from ((f"[{number}]", part) for number, part in enumerate(value))
        elif isinstance(value, queue.Queue):
            yield ".queue", value.queue
        elif isinstance(value, types.MethodType):
            yield ".__self__", value.__self__
        elif isinstance(value, types.FunctionType):
            yield from self._function(value)
        elif isinstance(value, type):
            yield from self._class(value)
        elif not isinstance(value, (types.ModuleType, types.BuiltinFunctionType, io.StringIO, torch.Generator)):
            yield from self._object(value)

    def _function(self, value: types.FunctionType) -> Iterator[tuple[str, Any]]:
        if value.__globals__ is not self._module.__dict__:
            return
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            try:
                yield f".<{name}>", cell.cell_contents
            except ValueError:
                continue
        yield from ((f".<default {number}>", part) for number, part in enumerate(value.__defaults__ or ()))
        yield from ((f".{name}", part) for name, part in vars(value).items() if name != "__wrapped__")

    def _class(self, value: type) -> Iterator[tuple[str, Any]]:
        if value.__module__ == self._module.__name__:
            own = ((name, part) for name, part in vars(value).items() if not name.startswith("__"))
            yield from ((f".{name}", part) for name, part in own if not isinstance(part, types.GetSetDescriptorType))

    def _object(self, value: Any) -> Iterator[tuple[str, Any]]:
        state = getattr(value, "__dict__", None)
        if not isinstance(state, dict) or type(value).__module__.startswith(("logging", "_io", "functools")):
            return
        for name, part in state.items():
            if isinstance(value, nn.Module) and (_HOOKS in name or name == "_non_persistent_buffers_set"):
                continue
            yield f".{name}", part


def _text(value: Any) -> str:
    """``value`` as text that stays the same from run to run."""
    # Python writes no number of thousands of digits, but in hex.
    is_long = type(value) is int and value.bit_length() > 9_999
    return hex(value) if is_long else lasting(repr(value))
