"""The optimizers of the study beside AdamW: one whose update is written with ``foreach_map``."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

# In torch since 2.7, and documented by its tutorial on horizontal fusion alone.
from torch._higher_order_ops.foreach_map import foreach_map

_MEAN, _SQUARE, _EPSILON, _DECAY = 0.9, 0.999, 1e-8, 1e-2


def _next_mean(mean: Tensor, gradient: Tensor) -> Tensor:
    return mean.lerp(gradient, 1 - _MEAN)


def _next_square(square: Tensor, gradient: Tensor) -> Tensor:
    return square * _SQUARE + gradient * gradient * (1 - _SQUARE)


def _next_weight(weight: Tensor, mean: Tensor, square: Tensor, count: Tensor, rate: Tensor) -> Tensor:
    corrected = mean / (1 - _MEAN**count)
    spread = (square / (1 - _SQUARE**count)).sqrt() + _EPSILON
    return weight * (1 - rate * _DECAY) - rate * corrected / spread


class ForeachMapAdamW:
    """AdamW. Its first step finds out which parameters have gradients."""

    def __init__(self, parameters: Iterable[nn.Parameter], rate: float) -> None:
        self._all = list(parameters)
        self._weights: list[nn.Parameter] = []
        self._means: list[Tensor] = []
        self._squares: list[Tensor] = []
        self._rate = torch.tensor(rate)
        self._count = torch.zeros(())

    def step(self) -> None:
        if not self._weights:
            self._weights = [weight for weight in self._all if weight.grad is not None]
            self._means = [torch.zeros_like(weight) for weight in self._weights]
            self._squares = [torch.zeros_like(weight) for weight in self._weights]
            self._rate, self._count = (value.to(self._weights[0].device) for value in (self._rate, self._count))
        self._count += 1
        self._update([weight.grad for weight in self._weights])

    def compile(self, backend: str) -> None:
        """Compile the update, which is all of a step but the first one's preparation."""
        self._update = torch.compile(self._update, backend=backend)  # type: ignore[method-assign]

    def zero_grad(self, set_to_none: bool = True) -> None:
        for weight in self._all:
            if set_to_none:
                weight.grad = None
            elif weight.grad is not None:
                weight.grad.zero_()

    @torch.no_grad()
    def _update(self, gradients: list[Tensor | None]) -> None:
        number = len(self._weights)
        means = foreach_map(_next_mean, self._means, gradients)
        squares = foreach_map(_next_square, self._squares, gradients)
        counts, rates = [self._count] * number, [self._rate] * number
        weights = foreach_map(_next_weight, self._weights, means, squares, counts, rates)
        for held, found in ((self._means, means), (self._squares, squares), (self._weights, weights)):
            torch._foreach_copy_(held, found)
