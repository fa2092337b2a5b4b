"""Fresh samples of one target: each is a copy of the first, so that no run sees what another one left behind.

The copies of a large model share the memory of its parameters. A sum over that memory tells whether a run wrote to it;
then the target is built anew, and copies have parameters of their own from there on.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

import torch
from torch import nn

#: Bytes of parameters above which copies share them: smaller ones are copied in a moment.
LARGE = 32 << 20
SEED = 0

T = TypeVar("T", "Sample", nn.Module)


@dataclass
class Sample:
    """One fresh callable with its arguments: what a single run may change as it likes."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    #: What was kept of gradients that were freed (graphdoctor.dynamic.numerics.gradients), by the names of parameters.
    gradients: dict[str, torch.Tensor] = field(default_factory=dict)
    #: What in the file or on the command line gives the arguments.
    origin: str = ""

    @property
    def module(self) -> nn.Module | None:
        """The module that is called, itself or through one of its methods."""
        owner = self.function if isinstance(self.function, nn.Module) else getattr(self.function, "__self__", None)
        return owner if isinstance(owner, nn.Module) else None


def seed(call: int = 0) -> None:
    """Seed Python's, numpy's and torch's generators (all devices): each ``call`` draws numbers of its own."""
    random.seed(SEED + call)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(SEED + call)
    seed_torch(SEED + call)


def seed_torch(number: int) -> None:
    """Do as ``torch.manual_seed``, which keeps a call and its stack for each kind of device that is absent."""
    if _has_accelerator():
        torch.manual_seed(number)
    else:
        torch.default_generator.manual_seed(number)


@cache
def _has_accelerator() -> bool:
    return torch.accelerator.is_available()


class Samples:
    """Gives copies of ``first``; samples that cannot be copied are built again."""

    def __init__(self, first: Sample, build: Callable[[], Sample]) -> None:
        self._first = first
        self._build = build
        self._copies = first.module is not None
        self._shares = self._copies and _size(first.module) > LARGE
        self._sums = self._sum()

    def __call__(self, own: bool = False) -> Sample:
        """A fresh sample. ``own``: with parameters that the caller may write to."""
        if not self._copies:
            return self._build()
        if self._shares:
            _give_back()
        if self._shares and self._sum() != self._sums:
            self._shares = False
            self._first = self._built()
        try:
            return copied(self._first, self._shares and not own)
        except Exception:  # a tensor that is no leaf, a lock, a generator
            return self._built()

    def _built(self) -> Sample:
        seed()
        return self._build()

    def _sum(self) -> list[int]:
        module = self._first.module
        return [_sum(tensor) for tensor in _memory(module)] if self._shares and module is not None else []


def copied(value: T, shares: bool) -> T:
    """A deep copy of a sample or a module; with ``shares`` its plain parameters are new objects over the same memory.

    Raises what copying raises.
    """
    module = value.module if isinstance(value, Sample) else value
    memo: dict[int, Any] = {}
    if shares and module is not None:
        memo = {id(p): nn.Parameter(p.detach(), p.requires_grad) for p in module.parameters() if _is_plain(p)}
    return copy.deepcopy(value, memo)


def is_large(module: nn.Module) -> bool:
    """Whether its parameters are worth sharing."""
    return _size(module) > LARGE


def _size(module: nn.Module | None) -> int:
    return sum(p.numel() * p.element_size() for p in module.parameters() if _is_plain(p)) if module is not None else 0


def _is_plain(parameter: nn.Parameter) -> bool:
    return type(parameter) is nn.Parameter and parameter.layout is torch.strided and parameter.grad is None


def _memory(module: nn.Module) -> Iterator[torch.UntypedStorage]:
    """Each piece of memory that parameters lie in, once."""
    storages = (p.untyped_storage() for p in module.parameters() if _is_plain(p) and not p.is_meta)
    yield from {storage.data_ptr(): storage for storage in storages}.values()


def _give_back() -> None:
    """Return memory that earlier runs have freed to the system (glibc): of a large model it is as much again."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _sum(storage: torch.UntypedStorage) -> int:
    """The sum of the memory, read as integers: whatever is written, it is another one."""
    data = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
    rest = data.numel() % 8
    return int(data[: data.numel() - rest].view(torch.int64).sum()) + int(data[data.numel() - rest :].sum())
