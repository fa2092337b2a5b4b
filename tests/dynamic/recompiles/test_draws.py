"""Random numbers of the calls in a sweep."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch
from torch import nn

from tests.dynamic.recompiles.test_recompile import probe, recompiles

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def rounds_drawn_by_python(x: torch.Tensor) -> torch.Tensor:
    rounds = random.randint(1, 20)
    torch._dynamo.graph_break()
    for _ in range(rounds):
        x = x + 1
    return x


def size_drawn_by_torch(x: torch.Tensor) -> torch.Tensor:
    return x.split(int(torch.randint(1, 8, (1,))), dim=1)[0] * 2


@pytest.mark.parametrize("function", [rounds_drawn_by_python, size_drawn_by_torch])
def test_each_call_draws_random_numbers_of_its_own(function: Callable[..., torch.Tensor]) -> None:
    """As in a real run: with the same numbers in each call nothing would be compiled again."""
    (_, found), *_ = probe(lambda: function, args=(torch.ones(4, 8),))
    assert found and found[0].compilations > 2


def test_random_numbers_are_the_same_under_a_remedy() -> None:
    def dropped(x: torch.Tensor, n: int) -> torch.Tensor:
        return nn.functional.dropout(x, 0.5) * n

    (found,) = recompiles(lambda: dropped, lambda: [(torch.ones(64), n) for n in (2, 3, 4)])
    assert found.verified_compilations == 1
