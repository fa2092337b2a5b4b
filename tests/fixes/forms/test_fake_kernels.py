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


@pytest.mark.parametrize("end", ["", "\n", "  # twice\n"])
def test_it_stands_behind_an_operator_that_ends_the_file(fixed: Any, end: str) -> None:
    compiled = "import torch\n\n\n@torch.compile\ndef f(x):\n    return scale(x) + 1\n\n\n"
    operator = '@torch.library.custom_op("fakes::last", mutates_args=())\ndef scale(x: torch.Tensor) -> torch.Tensor:\n'
    after = fixed(f"{compiled}{operator}    return x * 2{end}", unsafe=True).text
    line = "scale.register_fake(lambda x: x * 2)"
    assert after == f"{compiled}{operator}    return x * 2{end or chr(10)}\n\n{line}" + ("\n" if end else "")
