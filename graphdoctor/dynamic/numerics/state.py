"""The Python state that a call can change: attributes of modules, captured objects, globals, the environment.

Nothing of the user's runs here: attributes are read from ``__dict__`` and slots, never through properties.
"""

from __future__ import annotations

import contextlib
import enum
import hashlib
import operator
import os
import random
import re
import sys
import types
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from graphdoctor.dynamic.numerics.comparison import Snapshot
from graphdoctor.dynamic.user_code import pytree
from graphdoctor.dynamic.user_code.target import Sample

#: Objects are opened to this depth, and this many values are looked at.
_DEPTH = 8
_MOST = 20_000
#: Texts and tensors up to this size are kept, of larger ones a digest.
_LONG_TEXT = 2_000
_LARGE_TENSOR = 1 << 16
#: What ``uuid.uuid4()`` gives as a text, and the least that the address of an object may be.
_UUID = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}")
_ADDRESS = 1 << 32
#: Numbers of a tensor that are added up together.
_ROW = 4096

#: What ``nn.Module`` keeps of itself; parameters and buffers are compared as such.
_OF_MODULES = frozenset(vars(nn.Module())) - {"training"}
#: Packages whose objects are no state of the user's.
_FOREIGN = frozenset(
    {"torch", "triton", "logging", "threading", "_thread", "asyncio", "concurrent", "multiprocessing", "socket"}
)
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)


@dataclass
class State:
    """Values by name, and the tensors among them as they are."""

    leaves: Snapshot = field(default_factory=dict)
    tensors: dict[str, torch.Tensor] = field(default_factory=dict)


def of(sample: Sample, modules: Iterable[types.ModuleType]) -> State:
    """What ``sample`` holds and the globals of ``modules``, as they are now."""
    reader = _Reader()
    owner: Any = sample.module
    if owner is not None:
        reader.module(owner, "")
    else:
        reader.code(sample.function, "the function")
        owner = getattr(sample.function, "__self__", sample.function)
        if not isinstance(owner, (*_CODE, types.ModuleType)):
            reader.value(owner, "the called object", 0)
    for module in modules:
        for name, value in list(vars(module).items()):
            if not name.startswith("__"):
                reader.bound(value, f"global {name}", module.__name__)
    for name, text in os.environ.items():
        # Not the text, which may be a secret.
        reader.leaf(f"environment variable {name}", _digest(text.encode(errors="replace")))
    return reader.state


def written(before: State, after: State, expected: Collection[str] = ()) -> State:
    """What a call has changed between the two: values that are new, differ, or are deleted.

    What is ``expected`` counts as changed.
    """
    leaves: Snapshot = {
        n: v for n, v in after.leaves.items() if n in expected or not _same(before.leaves.get(n, _NOTHING), v)
    }
    leaves.update(dict.fromkeys((n for n in (*before.leaves, *expected) if n not in after.leaves), "deleted"))
    return State(leaves, {n: t for n, t in after.tensors.items() if n in leaves or before.tensors.get(n) is not t})


_NOTHING = object()


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        same = a.shape == b.shape and a.dtype == b.dtype
        return same and bool(((a == b) | ((a != a) & (b != b))).all())
    return type(a) is type(b) and (a == b or (a != a and b != b))


class _Reader:
    """Collects values, each object once."""

    def __init__(self) -> None:
        self.state = State()
        self._seen: dict[int, Any] = {}

    def module(self, root: nn.Module, prefix: str) -> None:
        """The plain attributes of ``root`` and of its submodules."""
        for path, module in root.named_modules():
            if self._is_new(module):
                start = f"{prefix}attribute {path}." if path else f"{prefix}attribute "
                for name, value in list(vars(module).items()):
                    if name not in _OF_MODULES:
                        self.value(value, start + name, 0)

    def bound(self, value: Any, name: str, file: str) -> None:
        """A global of the module ``file``, but for other modules; of classes and functions only its own."""
        with contextlib.suppress(Exception):
            self._bound(value, name, file)

    def _bound(self, value: Any, name: str, file: str) -> None:
        if isinstance(value, types.ModuleType):
            return
        if isinstance(value, type):
            if value.__module__ == file and self._is_new(value):
                for key, member in list(vars(value).items()):
                    if not key.startswith("__") and not hasattr(type(member), "__get__"):
                        self.value(member, f"{name}.{key}", 1)
        elif isinstance(value, types.FunctionType):
            if value.__module__ == file:
                self.code(value, name)
        else:
            self.value(value, name, 0)

    def code(self, function: Any, name: str) -> None:
        """What a function has captured, its defaults, and its attributes."""
        function = getattr(function, "__func__", function)
        if not isinstance(function, types.FunctionType) or not self._is_new(function):
            return
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        for variable, cell in cells:
            try:
                self.value(cell.cell_contents, f"{name}, captured {variable}", 0)
            except ValueError:  # not bound yet
                continue
        for number, default in enumerate(function.__defaults__ or ()):
            self.value(default, f"{name}, default {number}", 0)
        for key, value in {**(function.__kwdefaults__ or {}), **vars(function)}.items():
            self.value(value, f"{name}.{key}", 0)

    def leaf(self, name: str, value: Any) -> None:
        """One value that is compared."""
        if len(self.state.leaves) < _MOST:
            self.state.leaves[name] = value

    def value(self, value: Any, name: str, depth: int) -> None:
        """``value`` and what it holds, up to what raises when it is looked at, as proxies may."""
        if len(self.state.leaves) < _MOST and depth <= _DEPTH:
            with contextlib.suppress(Exception):
                self._value(value, name, depth)

    def _value(self, value: Any, name: str, depth: int) -> None:
        plain = _plain(value)
        if plain is not None:
            self.leaf(name, plain)
        elif isinstance(value, torch.Tensor):
            self.state.tensors[name] = value
            self.leaf(name, _of_tensor(value))
        elif isinstance(value, _CODE):
            self.leaf(name, f"{value.__module__}.{getattr(value, '__qualname__', '')}")
            if not isinstance(value, type):
                self.code(value, name)
        elif self._is_new(value):
            self._open(value, name, depth)

    def _is_new(self, value: Any) -> bool:
        if id(value) in self._seen:
            return False
        self._seen[id(value)] = value
        return True

    def _open(self, value: Any, name: str, depth: int) -> None:
        if isinstance(value, nn.Module):
            self.module(value, f"{name}, ")
        elif (position := _position(value)) is not None:
            self.leaf(name, position)
        elif isinstance(value, types.ModuleType) or type(value).__module__.partition(".")[0] in _FOREIGN:
            return
        elif type(value) is dict and "__builtins__" in value:
            # The globals of a module, where Dynamo puts what it compiled; those of the user's are read by themselves.
            return
        else:
            parts = list(_parts(value))
            self.leaf(f"{name} ({type(value).__qualname__})", len(parts))
            for part, child in parts:
                self.value(child, name + part, depth + 1)


def _plain(value: Any) -> Any:
    """``value`` as something that can be saved and compared; None where it is no plain value."""
    if isinstance(value, enum.Enum):
        return repr(value)
    if isinstance(value, str):
        return pytree.plain(value) if len(value) <= _LONG_TEXT else _digest(value.encode(errors="replace"))
    if isinstance(value, (bool, float)) or (isinstance(value, int) and abs(value) < 1 << 62):
        return pytree.plain(value)
    if value is None or isinstance(value, (int, complex, range, slice, torch.dtype, torch.device, torch.Size)):
        return repr(value)
    return _digest(bytes(value)) if isinstance(value, (bytes, bytearray)) else None


def _of_tensor(tensor: torch.Tensor) -> Any:
    found = tensor.detach()
    if found.layout is not torch.strided or found.is_meta or found.is_quantized:
        return f"{found.dtype} {tuple(found.shape)} {found.layout}"
    return found.clone().cpu() if found.numel() <= _LARGE_TENSOR else digest(found)


def digest(tensor: torch.Tensor) -> torch.Tensor:
    """Two numbers that nearly every write to ``tensor`` changes: its sum and its norm."""
    found = tensor.detach()
    if found.is_complex():
        found = torch.view_as_real(found)
    found = (found if found.is_floating_point() else found.double()).reshape(-1)
    # The numbers of a row are added up in 32 bits and only the sums of rows in 64, which costs a twentieth.
    rows = found[: found.numel() // _ROW * _ROW].view(-1, _ROW)
    rest = found[rows.numel() :].double()
    wide = torch.promote_types(found.dtype, torch.float32)
    sums = torch.cat([rows.sum(1, dtype=wide).double(), rest])
    norms = torch.cat([torch.linalg.vector_norm(rows, dim=1, dtype=wide).double(), rest])
    return torch.stack([sums.sum(), torch.linalg.vector_norm(norms)]).cpu()


def _position(value: Any) -> Any:
    """How far an iterator or a random generator is, without moving it; None where ``value`` is neither."""
    numpy = sys.modules.get("numpy")
    if isinstance(value, torch.Generator):
        return _digest(_bytes(value.get_state()))
    if isinstance(value, random.Random):
        return _digest(repr(value.getstate()).encode())
    if numpy is not None and isinstance(value, numpy.random.Generator):
        return _digest(repr(value.bit_generator.state).encode())
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        return _digest(numpy.asarray(value).tobytes()) if value.dtype.kind != "O" else repr(value.shape)
    if isinstance(value, types.GeneratorType):
        return f"{value.gi_frame is None} {value.gi_frame and value.gi_frame.f_lasti}"
    if type(value).__module__ in ("builtins", "itertools") and isinstance(value, Iterator):
        text = repr(value)
        return f"{operator.length_hint(value, -1)} left" if " at 0x" in text else text
    return None


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    # By the methods of the builtin classes: those of a subclass may load a data set, or move an iterator.
    if isinstance(value, dict):
        yield from ((f"[{_key(key, number)}]", child) for number, (key, child) in enumerate(dict.items(value)))
    elif isinstance(value, (list, tuple)):
        items = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
        yield from ((f"[{number}]", child) for number, child in enumerate(items))
    elif isinstance(value, deque):
        yield from ((f"[{number}]", child) for number, child in enumerate(deque.__iter__(value)))
    elif isinstance(value, (set, frozenset)):
        yield from ((f"{{{key}}}", True) for key in sorted(_key(item, 0) for item in value))
    if hasattr(value, "__dict__"):
        yield from ((f".{key}", child) for key, child in list(vars(value).items()))
    for cls in type(value).__mro__:
        slots = vars(cls).get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            member = vars(cls).get(slot)
            if isinstance(member, types.MemberDescriptorType) and (held := _slot(member, value)) is not _NOTHING:
                yield f".{slot}", held


def _slot(member: types.MemberDescriptorType, value: Any) -> Any:
    try:
        return member.__get__(value)
    except AttributeError:  # never set
        return _NOTHING


def _key(key: Any, number: int) -> str:
    """How a key is called: by its text where it is a plain value, else by its place.

    The ``id`` of an object and a ``uuid`` are made anew in each run.
    """
    parts = key if type(key) is tuple else (key,)
    plain = all(isinstance(part, (str, int, float, type(None))) and not _is_made_anew(part) for part in parts)
    return repr(key) if plain else f"key {number}"


def _is_made_anew(part: Any) -> bool:
    if isinstance(part, str):
        return _UUID.fullmatch(part) is not None
    return isinstance(part, int) and part > _ADDRESS


def _digest(data: bytes) -> str:
    return f"{len(data)} bytes, {hashlib.sha1(data, usedforsecurity=False).hexdigest()[:12]}"


def _bytes(state: torch.Tensor) -> bytes:
    """Of uint8. ``Tensor.numpy`` would need numpy, which torch works without."""
    return bytes(state.tolist())


def _uses_cuda() -> bool:
    return bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]


def _cuda_state_after(seed: int) -> bytes:
    """The state of a generator of CUDA that was given ``seed`` and drew nothing: the seed, and how far it is."""
    return (seed % 2**64).to_bytes(8, "little") + bytes(8)


def _state_of_numpy(state: Any) -> bytes:
    """Of the generator that numpy starts with it is a tuple: its name, its numbers, and how far it is."""
    if not isinstance(state, tuple):
        return repr(state).encode()
    name, numbers, *rest = state
    # The text of the numbers takes a hundred times as long as they do.
    return bytes(numbers.data) + repr((name, rest)).encode()


def random_numbers() -> Snapshot:
    """The state of each random number generator."""
    found = {
        "the state of torch's random numbers": _digest(_bytes(torch.get_rng_state())),
        "the state of Python's random numbers": _digest(repr(random.getstate()).encode()),
    }
    states = [_bytes(state) for state in torch.cuda.get_rng_state_all()] if _uses_cuda() else []
    # A compile initialises CUDA, which draws nothing.
    if any(state != _cuda_state_after(torch.initial_seed()) for state in states):
        found["the state of CUDA's random numbers"] = _digest(b"".join(states))
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        found["the state of numpy's random numbers"] = _digest(_state_of_numpy(numpy.random.get_state()))
    return found
