from collections.abc import Callable

import pytest
import torch
from torch import nn

from graphdoctor.dynamic.user_code import fresh
from graphdoctor.dynamic.user_code.fresh import Sample, Samples, copied


class Tied(nn.Module):
    def __init__(self, write: Callable[[nn.Parameter], object] = lambda _parameter: None) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.register_buffer("calls", torch.zeros(1))
        self.write = write

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        self.write(self.first.weight)
        return self.second(self.first(x))


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh, "LARGE", 0)


def samples(write: Callable[[nn.Parameter], object] = lambda _parameter: None) -> Samples:
    def build() -> Sample:
        torch.manual_seed(0)
        return Sample(Tied(write), (torch.ones(2, 4),))

    return Samples(build(), build)


def module(sample: Sample) -> Tied:
    assert isinstance(sample.module, Tied)
    return sample.module


def test_copies_share_the_memory_of_parameters_and_nothing_else() -> None:
    made = samples()
    one, two = module(made()), module(made())
    assert one.first.weight.data_ptr() == two.first.weight.data_ptr()
    assert one.first.weight is not two.first.weight
    assert one.first.weight is one.second.weight
    one(torch.ones(2, 4)).sum().backward()
    one.first.weight.requires_grad_(False)
    assert (two.first.weight.grad, two.first.weight.requires_grad, float(two.calls)) == (None, True, 0.0)


def test_a_caller_that_writes_has_parameters_of_its_own() -> None:
    made = samples()
    written = module(made(own=True))
    before = module(made()).first.weight.clone()
    with torch.no_grad():
        written.first.weight.zero_()
    assert torch.equal(module(made()).first.weight, before)


@pytest.mark.parametrize(
    "write",
    [
        lambda weight: weight.data.mul_(0.5),
        lambda weight: weight.detach().view(-1)[-1:].zero_(),
        lambda weight: weight.data[:1].neg_(),
    ],
)
def test_what_a_run_writes_to_parameters_is_seen_by_no_other_run(write: Callable[[nn.Parameter], object]) -> None:
    made = samples(write)
    before = module(made()).first.weight.clone()
    for _ in range(3):
        sample = made()
        assert torch.equal(module(sample).first.weight, before)
        sample.function(*sample.args)
        assert not torch.equal(module(sample).first.weight, before)


def test_small_models_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh, "LARGE", 1 << 20)
    made = samples()
    assert module(made()).first.weight.data_ptr() != module(made()).first.weight.data_ptr()


def test_what_is_no_plain_parameter_is_copied() -> None:
    lazy = nn.LazyLinear(3)
    assert isinstance(copied(lazy, shares=True).weight, nn.UninitializedParameter)
