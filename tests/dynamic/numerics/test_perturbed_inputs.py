"""How samples are varied."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from graphdoctor.dynamic.numerics.perturbed_inputs import ALL, NotApplicable, Variation, sample
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


@pytest.mark.parametrize(("name", "same", "bits"), [("smallest", -100, False), ("largest", 5, True)])
def test_labels_and_masks_that_are_all_the_same(name: str, same: int, bits: bool) -> None:
    """Nothing is selected, or everything, and the floats beside are those of the sample."""
    given = torch.tensor([0.5, -2.0]), torch.tensor([-100, 5]), torch.tensor([True, False])
    target = Target("t", lambda: Sample(nn.Bilinear(2, 2, 2), given), torch.device("cpu"))
    made = sample(target, "eval", _named(f"integers and masks all at their {name}"), gradients=False)
    assert made.args[0].tolist() == [0.5, -2.0]
    assert made.args[1].tolist() == [same, same]
    assert made.args[2].tolist() == [bits, bits]


@pytest.mark.parametrize("given", [torch.ones(2), torch.tensor(3), torch.zeros(0, dtype=torch.long), torch.ones(2) > 0])
def test_what_is_all_the_same_already_is_left_out(given: torch.Tensor) -> None:
    target = Target("t", lambda: Sample(nn.Linear(2, 2), (given,)), torch.device("cpu"))
    with pytest.raises(NotApplicable):
        sample(target, "eval", _named("integers and masks all at their largest"), gradients=False)


def _named(name: str) -> Variation:
    return next(variation for variation in ALL if variation.name == name)
