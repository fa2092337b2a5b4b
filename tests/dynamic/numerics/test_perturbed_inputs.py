"""How samples are varied."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from graphdoctor.dynamic.numerics.perturbed_inputs import ALL, sample
from graphdoctor.dynamic.user_code.target import Sample, Target

NEGATED = next(variation for variation in ALL if variation.name == "the inputs negated")


@pytest.mark.parametrize(("given", "device"), [(torch.tensor([1, 2]), "cpu"), (torch.ones(2), "meta")])
def test_an_index_out_of_range_is_tried_on_the_cpu(given: torch.Tensor, device: str) -> None:
    """The device meta stands for a GPU here."""
    target = Target("t", lambda: Sample(nn.Linear(2, 2), (given,)), torch.device("meta"))
    made = sample(target, "eval", NEGATED, gradients=False)
    assert made.module is not None
    assert {str(tensor.device) for tensor in (*made.args, *made.module.parameters())} == {device}
    if device == "cpu":
        assert made.args[0].tolist() == [-1, -2]
