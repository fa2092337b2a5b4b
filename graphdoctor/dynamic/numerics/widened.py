"""A large model computed in a wider dtype: each weight is widened where it is used, and never all of them at once.

Operators are given a wide copy of a parameter in its place. The copy is freed after use: what backward needs of it is
saved as the parameter, and widened again there.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from graphdoctor.dynamic.user_code import pytree

#: Attributes and methods that concern the parameter itself, not its values.
_OF_LEAVES = {
    torch.Tensor.numel,
    torch.Tensor.register_post_accumulate_grad_hook,
    *(getattr(torch.Tensor, name).__get__ for name in ("grad", "is_leaf", "requires_grad")),
}


@contextlib.contextmanager
def widened(module: nn.Module, wider: torch.dtype, seen: Callable[[str, torch.Tensor], None]) -> Iterator[None]:
    """While the block runs, ``module`` computes in ``wider``, and ``seen`` gets the gradients by parameter.

    A parameter that is used twice has two of them, which add up; ``grad`` stays as it is. Buffers are converted.
    """
    for part in module.modules():
        for name, buffer in part.named_buffers(recurse=False):
            if buffer.is_floating_point():
                part._buffers[name] = buffer.to(wider)
    weights = _Weights(module, wider, seen)
    with torch.autograd.graph.saved_tensors_hooks(weights.pack, weights.unpack), _Replacing(weights):
        yield


class _Weights:
    def __init__(self, module: nn.Module, wider: torch.dtype, seen: Callable[[str, torch.Tensor], None]) -> None:
        self._wider = wider
        self._seen = seen
        floating = ((name, p) for name, p in module.named_parameters() if p.is_floating_point())
        self._names = {id(p): (p, name) for name, p in floating}
        #: The parameter of each wide copy that lives, by the address of its memory.
        self._copies: dict[int, nn.Parameter] = {}

    def wide(self, value: Any) -> Any:
        """The wide copy of a parameter; anything else as it is."""
        if id(value) not in self._names:
            return value
        parameter, name = self._names[id(value)]
        copy = _Widen.apply(parameter, self._wider, partial(self._seen, name))  # type: ignore[no-untyped-call]
        address = copy.untyped_storage().data_ptr()
        self._copies[address] = parameter
        weakref.finalize(copy.untyped_storage(), self._copies.pop, address, None)
        return copy

    def pack(self, tensor: torch.Tensor) -> Any:
        """What is saved for backward: of a wide copy, the parameter and the view of it."""
        parameter = self._copies.get(tensor.untyped_storage().data_ptr())
        if parameter is None:
            return tensor
        return parameter, tensor.size(), tensor.stride(), tensor.storage_offset()

    def unpack(self, saved: Any) -> torch.Tensor:
        """What ``pack`` was given."""
        if isinstance(saved, torch.Tensor):
            return saved
        parameter, size, stride, offset = saved
        copy: torch.Tensor = parameter.detach().to(self._wider).as_strided(size, stride, offset)
        return copy


class _Widen(torch.autograd.Function):
    """A conversion whose gradient is not rounded to the narrow dtype: it is handed on, and ends here."""

    @staticmethod
    def forward(
        ctx: Any, parameter: torch.Tensor, wider: torch.dtype, seen: Callable[[torch.Tensor], None]
    ) -> torch.Tensor:
        ctx.seen = seen
        return parameter.detach().to(wider)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[None, None, None]:
        ctx.seen(gradients[0])
        return None, None, None


class _Replacing(TorchFunctionMode):
    """Gives each operator, and each question for an attribute, the wide copy of a parameter."""

    def __init__(self, weights: _Weights) -> None:
        super().__init__()
        self._weights = weights

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in _OF_LEAVES:
            return func(*args, **(kwargs or {}))
        args, kwargs = pytree.map_tensors((args, kwargs or {}), self._weights.wide)
        return func(*args, **kwargs)
