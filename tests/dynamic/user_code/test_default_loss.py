"""The loss of a target without one of its own."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch

from graphdoctor.dynamic.user_code.default_loss import default_loss


@pytest.mark.parametrize(
    ("dtypes", "loss"),
    [
        ((torch.float32,), torch.float32),
        ((torch.bfloat16, torch.float32), torch.float32),
        ((torch.float64, torch.float32), torch.float64),
    ],
)
def test_a_loss_is_as_wide_as_the_widest_output(dtypes: tuple[torch.dtype, ...], loss: torch.dtype) -> None:
    made = default_loss([torch.ones(3, dtype=dtype, requires_grad=True) for dtype in dtypes])
    assert made is not None and (made.dtype, made.item()) == (loss, len(dtypes))
