"""A number that numpy draws, joined with tensors: as an operator of 64 bits it must not make results float64."""

from __future__ import annotations

from typing import Any

import pytest

MIXUP = """\
import numpy as np
import torch
import torch.nn.functional as F


def f(x, y):
    lam = np.random.beta(0.4, 0.4)
    x = lam * x + (1 - lam) * x.flip(0)
    {}
    return loss


def graphdoctor_target():
    return f, (torch.rand(4, 3), torch.tensor([0, 1, 2, 2]))
"""
LOSSES = {
    "losses": "loss = lam * F.cross_entropy(x, y) + (1 - lam) * F.cross_entropy(x, y.flip(0))",
    "a name": "one = x.sum()\n    loss = one * lam",
    "a loss for each": "loss = lam * F.cross_entropy(x, y, reduction='none')",
}


@pytest.mark.parametrize("name", LOSSES)
def test_the_dtype_stays(fixed: Any, runner: Any, name: str) -> None:
    import numpy as np
    import torch

    source = MIXUP.format(LOSSES[name])
    after = fixed(source, unsafe=True).text
    assert "beta_operator(" in after
    x, y = torch.rand(4, 3), torch.tensor([0, 1, 2, 2])
    found = []
    for text in (source, after):
        np.random.seed(3)
        found.append(runner.eager(text, x, y))
    torch.testing.assert_close(found[1], found[0])
    np.random.seed(3)
    result = runner.compiled(after, x, y, fullgraph=True)
    torch.testing.assert_close(result.value, found[0])


COIN = """\
import random
import torch


def f(x, training=True):
    coin = training and random.random() < 0.5
    if coin:
        x = x.cos()
        print(x.shape)
    return {}


def graphdoctor_target():
    return f, (torch.rand(4),)
"""


@pytest.mark.parametrize("returned, is_fixed", [("x", False), ("x * coin", True)])
def test_a_number_that_only_decides_branches_is_not_drawn_in_another_form(
    fixed: Any, returned: str, is_fixed: bool
) -> None:
    """The break would only move from the draw to the branch."""
    result = fixed(COIN.format(returned), unsafe=True)
    assert ("random.uniform" in result.text) is is_fixed
    reasons = [f.fix.reason for f in result.findings if f.fix is not None and f.rule == "GD403"]
    if not is_fixed:
        assert reasons == ["The number decides a branch, which breaks even when the draw is traced."]
