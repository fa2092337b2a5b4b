"""Differences that are as small as the rounding of the computation itself, which float64 shows, or the last bit.

Sums in another order differ where large terms cancel, as in gradients with parameters of 100. Where saturated layers
amplify them, the result is nothing but rounding: it changes as much when the last bit of the parameters does.
"""

from __future__ import annotations

from typing import Any

import torch

from graphdoctor.dynamic.numerics.comparison import Snapshot
from graphdoctor.dynamic.user_code import pytree
from graphdoctor.dynamic.user_code.target import Sample

#: By how much two computations may differ by rounding, relative to the largest number of a leaf.
_LARGEST_DIFFERENCE = 1e-3
#: How far from float64 a computation may be, relative to the same: steps that both share may round more than those in
#: which they differ. What is further away took another branch or another index in float64.
_LARGEST_ERROR = 1e-2
#: How large a number is, relative to the largest of its dtype, whose summands may be larger than that.
_NEARLY_LOST = 1e-2
#: One computation may round more often than the other, and into the other direction.
_FACTOR = 4


def explains(name: str, before: Snapshot, after: Snapshot, exact: Snapshot) -> bool:
    """Whether the leaf ``name`` differs by no more than the rounding of two computations.

    That of one is how far ``after`` is from ``exact``, which is the same in float64. What the dtype cannot hold is
    infinite in both, or NaN, where the sum of a row has infinities of both signs: that depends on the order.
    """
    leaf: Any = before.get(name)
    one, other, wide = (_numbers(found.get(name)) for found in (before, after, exact))
    if one is None or other is None or wide is None or not one.shape == other.shape == wide.shape or not one.numel():
        return False
    is_large = wide.isfinite() & (wide.abs() > _NEARLY_LOST * torch.finfo(leaf.dtype).max)
    lost = ~one.isfinite() & ~other.isfinite() & is_large
    one, other, wide = one[~lost], other[~lost], wide[~lost]
    if not all(numbers.isfinite().all() for numbers in (one, other, wide)):
        return False
    if not one.numel():
        return True
    difference, error, scale = (one - other).abs().max(), (other - wide).abs().max(), wide.abs().max()
    is_small = difference <= _LARGEST_DIFFERENCE * scale and error <= _LARGEST_ERROR * scale
    return bool(is_small and difference <= _FACTOR * error)


def nudge(sample: Sample) -> None:
    """Change the last bit of each parameter and each number of the inputs, up or down."""
    module, inputs = sample.module, pytree.tensors((sample.args, sample.kwargs))
    with torch.no_grad():
        for tensor in (*(module.parameters() if module is not None else ()), *inputs):
            if tensor.is_floating_point():
                # A generator of its own: the call starts from the same random numbers as the one it is compared with.
                drawn = torch.rand(tensor.shape, generator=torch.Generator().manual_seed(tensor.numel()))
                up = (drawn.to(tensor.device) < 0.5).to(tensor.dtype) * 2 - 1
                tensor.mul_(1 + up * torch.finfo(tensor.dtype).eps)


def amplified(name: str, before: Snapshot, after: Snapshot, nudged: Snapshot) -> bool:
    """Whether the leaf ``name`` of ``after`` changes about as much by the last bit of the numbers that go in."""
    one, other, moved = (_numbers(found.get(name)) for found in (before, after, nudged))
    if one is None or other is None or moved is None or not one.shape == other.shape == moved.shape:
        return False
    if not all(numbers.isfinite().all() for numbers in (one, other, moved)):
        return False
    return bool(one.numel() and (one - other).abs().max() <= _FACTOR * (other - moved).abs().max())


def _numbers(leaf: Any) -> torch.Tensor | None:
    """The numbers of a leaf in float64; None where it has none."""
    if not isinstance(leaf, torch.Tensor) or not leaf.is_floating_point() or leaf.layout is not torch.strided:
        return None
    return leaf.detach().cpu().double()
