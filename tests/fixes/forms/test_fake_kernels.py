"""A custom operator gets a fake implementation."""

from __future__ import annotations

from typing import Any

import pytest

OPERATOR = '''\
import torch


@torch.library.custom_op("fakes::scale{number}", mutates_args=())
def scale(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
    """It scales."""
    return {returned}


def f(x):
    return scale(x) + 1


def graphdoctor_target():
    return f, (torch.rand(4, 8),)
'''


@pytest.mark.parametrize("returned", ["x * by", "torch.cat([x, x.mean(0, keepdim=True)]) * by"])
def test_what_it_returns_is_its_fake_implementation(fixed: Any, runner: Any, returned: str) -> None:
    import torch

    numbers = iter(range(len(returned), 1000, 100))
    after = fixed(OPERATOR.format(number=0, returned=returned), unsafe=True).text
    assert f"\n\nscale.register_fake(lambda x, by=2.0: {returned})\n" in after
    assert fixed(after).findings == ()
    x = torch.rand(4, 8)
    # Each program that is loaded has an operator of its own.
    expected = runner.eager(after.replace("scale0", f"scale{next(numbers)}"), x)
    result = runner.compiled(after.replace("scale0", f"scale{next(numbers)}"), x, fullgraph=True)
    assert (result.breaks, result.graphs) == (0, 1)
    assert torch.equal(result.value, expected)


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        ("kernel(x)", "The operator calls more than operators of torch, so its result has to be described by hand."),
        (
            "x[x > by] * 2",
            "The operator calls more than operators of torch, so its result has to be described by hand.",
        ),
        (
            "x\n    return x",
            "The operator does more than return one expression, so its result has to be described by hand.",
        ),
    ],
)
def test_what_is_not_known_is_left_to_the_author(fixed: Any, returned: str, reason: str) -> None:
    (found,) = fixed(OPERATOR.format(number=0, returned=returned)).findings
    assert found.rule == "GD514" and found.fix is not None
    assert (found.fix.safety, found.fix.reason) == ("manual", reason)
