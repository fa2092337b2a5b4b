"""Gradients of a large model: of each a part is kept while it is computed, and its memory is freed at once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import torch
from torch import nn

from graphdoctor.dynamic.user_code.fresh import Sample

#: Numbers of all gradients together that are kept and compared.
MOST = 1 << 22


def step_of(module: nn.Module | None) -> int:
    """The n of "every n-th number is kept": 1 where all are kept."""
    numbers = sum(p.numel() for p in module.parameters() if p.requires_grad) if module is not None else 0
    # Odd, so that it is no multiple of the usual widths and does not stay in one column.
    return (numbers // MOST) | 1 if numbers > MOST else 1


@contextlib.contextmanager
def thinned(sample: Sample) -> Iterator[None]:
    """While the block goes backward, keep every n-th element of each gradient (``step_of``) in ``sample.gradients``.

    Where all is kept, gradients stay where they are.
    """
    module, step = sample.module, step_of(sample.module)
    if module is None or step == 1:
        yield
        return

    def keep(name: str) -> Callable[[torch.Tensor], None]:
        def see(parameter: torch.Tensor) -> None:
            if parameter.grad is not None:
                add(sample, name, parameter.grad, step)
                parameter.grad = None

        return see

    handles = [
        parameter.register_post_accumulate_grad_hook(keep(name))  # type: ignore[no-untyped-call]
        for name, parameter in module.named_parameters()
        if parameter.requires_grad
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def add(sample: Sample, name: str, gradient: torch.Tensor, step: int) -> None:
    """Keep every ``step``-th element of a parameter's gradient in ``sample.gradients``."""
    gradient = gradient.detach()
    parts = gradient.coalesce().values() if gradient.is_sparse else gradient
    # By coordinates, since flattening a transposed gradient would copy all of it.
    numbers = torch.arange(0, parts.numel(), step, device=parts.device)
    kept = parts[torch.unravel_index(numbers, parts.shape)] if parts.ndim else parts.reshape(1).clone()
    # Once more where a part of the graph went backward before, or the parameter is used twice: the sum is what counts.
    known = sample.gradients.get(name)
    sample.gradients[name] = kept if known is None or known.shape != kept.shape else known + kept
