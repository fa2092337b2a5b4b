"""Breaks of forward, backward and step, told apart."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.tracing.backend import CountingBackend
from graphdoctor.dynamic.user_code.default_loss import default_loss
from graphdoctor.dynamic.user_code.target import Sample, Target
from graphdoctor.dynamic.worker import training
from graphdoctor.model.runs import DynamicRun

FOLDER = str(Path(__file__).parent)
PLACES = Places(root=FOLDER, own=(FOLDER,), torch=str(Path(torch.__file__).parent))


pytestmark = pytest.mark.usefixtures("fresh_dynamo")


class Printing(torch.optim.SGD):
    def step(self, closure: Any = None) -> Any:
        print("step")
        return super().step(closure)


def hook(gradient: torch.Tensor) -> torch.Tensor:
    print("backward")
    return gradient * 2


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        if y.requires_grad:
            y.register_hook(hook)
        return y


def step(autograd: bool, optimizer: str | None = None, own: Any = None, model: type[nn.Module] = Net) -> DynamicRun:
    sample = Sample(model(), (torch.ones(2, 4),))
    target = Target("Net", lambda: Sample(model(), sample.args), torch.device("cpu"), optimizer=own)
    blank = DynamicRun("Net", "train", "cpu", "ok")
    return training.TrainingStep(target, CountingBackend(), PLACES, default_loss, optimizer, autograd).run(blank)


def test_breaks_of_backward_and_step_are_told_apart() -> None:
    run = step(autograd=True, own=lambda model: Printing(model.parameters(), lr=0.1))
    assert run.training is not None
    assert (run.training.outcome, run.training.optimizer) == ("ok", "graphdoctor_optimizer()")
    lines = {found.phase: found.line for found in run.breaks}
    assert lines["backward"] == hook.__code__.co_firstlineno + 1
    assert lines["step"] == Printing.step.__wrapped__.__code__.co_firstlineno + 1  # type: ignore[attr-defined]
    assert run.training.numerics is not None
    assert run.training.numerics.equal is True


def test_a_backward_in_eager_breaks_nowhere_and_torchs_own_break_is_not_counted() -> None:
    run = step(autograd=False, optimizer="adamw")
    assert run.training is not None
    assert run.breaks == ()
    assert run.training.graphs["step"] == 1
    assert "on purpose" in run.training.detail


def test_a_model_without_a_gradient_is_said() -> None:
    run = step(autograd=False, optimizer="sgd", model=nn.ReLU)
    assert run.training is not None
    assert run.training.outcome == "raised"
    assert "graphdoctor_loss" in run.training.detail


def test_where_compiled_autograd_is_missing_the_report_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("torch._dynamo.compiled_autograd._enable")
    run = step(autograd=True, optimizer="sgd")
    assert run.training is not None
    assert (run.training.outcome, run.breaks) == ("raised", ())
    assert "has no torch._dynamo.compiled_autograd" in run.training.detail


def test_this_torch_has_compiled_autograd() -> None:
    """Fails loudly where torch renames what it is switched on with."""
    with training.compiled_autograd(CountingBackend()):
        pass
