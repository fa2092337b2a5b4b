import pytest
import torch
from torch import nn

from graphdoctor.dynamic.numerics import comparison, gradients
from graphdoctor.dynamic.user_code.fresh import Sample


def backward(model: nn.Module) -> Sample:
    torch.manual_seed(0)
    sample = Sample(model, (torch.randn(5, 8),))
    loss = model(*sample.args).square().sum()
    with gradients.thinned(sample):
        loss.backward()
    return sample


def test_all_gradients_of_a_small_model_stay() -> None:
    model = nn.Linear(8, 8)
    sample = backward(model)
    assert not sample.gradients
    assert model.weight.grad is not None


def test_of_a_large_model_a_part_is_kept_and_the_memory_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    model[1].weight = model[0].weight
    whole = {name: p.grad for name, p in backward(model).function.named_parameters()}  # type: ignore[attr-defined]
    model.zero_grad()
    monkeypatch.setattr(gradients, "MOST", 16)
    step = gradients.step_of(model)
    sample = backward(model)
    assert step == 5
    assert all(parameter.grad is None for parameter in model.parameters())
    for name, gradient in whole.items():
        assert torch.equal(sample.gradients[name], gradient.reshape(-1)[::step])
    assert "gradient of 0.weight" in comparison.snapshot(sample, None)


def test_a_gradient_that_comes_twice_is_added(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nn.Linear(8, 2)
    monkeypatch.setattr(gradients, "MOST", 1)
    sample = Sample(model, (torch.ones(1, 8),))
    with gradients.thinned(sample):
        model(*sample.args).sum().backward()
        model(*sample.args).sum().backward()
    assert sample.gradients["bias"].tolist() == [2.0]
