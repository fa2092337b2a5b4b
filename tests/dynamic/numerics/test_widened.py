"""A large model in a wider dtype: the same numbers as of a wide copy, without its memory."""

import copy
import gc

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from graphdoctor.dynamic.numerics import comparison, gradients, reference
from graphdoctor.dynamic.numerics.widened import widened
from graphdoctor.dynamic.user_code import fresh
from graphdoctor.dynamic.user_code.target import Sample, Target


class Tied(nn.Module):
    """Weights that other modules use, that are asked for their dtype, and lists of them."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(7, 8)
        self.recurrent = nn.LSTM(8, 8, batch_first=True)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.BatchNorm1d(5)
        self.experts = nn.ParameterList(nn.Parameter(torch.randn(8, 8)) for _ in range(2))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        found, _ = self.recurrent(self.embedding(tokens))
        found, _ = self.attention(found, found, found)
        scale = torch.ones(8, dtype=self.embedding.weight.dtype)
        found = self.norm(found) * scale @ torch.stack(list(self.experts)).sum(0)
        return nn.functional.linear(found, self.embedding.weight)


def run(sample: Sample) -> comparison.Snapshot:
    outputs = sample.function(*sample.args)
    with gradients.thinned(sample):
        outputs.square().mean().backward()
    return comparison.snapshot(sample, outputs)


@pytest.mark.parametrize(("narrow", "wider"), [(torch.bfloat16, torch.float32), (torch.float32, torch.float64)])
def test_numbers_of_a_wide_copy(narrow: torch.dtype, wider: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model = Tied().to(narrow)
    target = Target("f", lambda: Sample(copy.deepcopy(model), (torch.arange(5)[None] % 3,)), torch.device("cpu"))
    monkeypatch.setattr(gradients, "MOST", 100)
    whole = reference.in_wider_dtype(target, "train", run)
    monkeypatch.setattr(fresh, "LARGE", 0)
    by_part = reference.in_wider_dtype(target, "train", run)
    assert whole is not None
    assert by_part is not None
    assert len(whole) > 10
    assert whole["output"].dtype is whole["gradient of embedding.weight"].dtype is wider
    assert comparison.compare(whole, by_part).where is None


def test_the_weights_are_never_all_wide_at_once() -> None:
    model = nn.Sequential(*(nn.Linear(13, 13, bias=False, dtype=torch.bfloat16) for _ in range(4)))
    before = copy.deepcopy(model.state_dict())

    def wide() -> int:
        """The float32 tensors that have the shape of a weight."""
        tensors = (found for found in gc.get_objects() if type(found) is torch.Tensor)
        return sum(found.shape == (13, 13) and found.dtype is torch.float32 for found in tensors)

    alive: list[int] = []
    with widened(model, torch.float32, lambda _name, _gradient: alive.append(wide())):
        outputs = model(torch.ones(2, 13))
        assert wide() == 0
        outputs.sum().backward()
    assert len(alive) == 4
    # The gradient itself is one of them.
    assert max(alive) <= 2
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_what_is_asked_about_a_weight_converts_nothing() -> None:
    class Operators(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            called.append(func)
            return func(*args, **(kwargs or {}))

    called: list[object] = []
    model = nn.Linear(3, 2, dtype=torch.bfloat16)
    with widened(model, torch.float32, lambda _name, _gradient: None), Operators():
        assert gradients.step_of(model) == 1
        assert called == []
        model(torch.ones(1, 3))
        assert called
