"""What the verdict is made of: eager runs, the counted compile, and when they are made again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.parent.protocol import RunRequest
from graphdoctor.dynamic.tracing.backend import CountingBackend
from graphdoctor.dynamic.user_code.target import Sample, Target
from graphdoctor.dynamic.worker.experiment import Experiment
from graphdoctor.model.runs import DynamicRun

FOLDER = str(Path(__file__).parent)
PLACES = Places(root=FOLDER, own=(FOLDER,), torch=str(Path(torch.__file__).parent))

pytestmark = pytest.mark.usefixtures("fresh_dynamo")
calls: list[str] = []


class Restless(torch.autograd.Function):
    """Gives another gradient in each backward."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 1

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
        calls.append("backward")
        return gradients[0] * len(calls)


class Net(nn.Module):
    def __init__(self, last: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.last = last

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        calls.append("eager" if not torch.compiler.is_compiling() else "traced")
        return self.last(self.linear(x))


def ran(last: Callable[[torch.Tensor], torch.Tensor], mode: str) -> DynamicRun:
    calls.clear()
    target = Target("f", lambda: Sample(Net(last), (torch.ones(2, 4),)), torch.device("cpu"))
    file = Path(__file__)
    request = RunRequest(file, file.parent, mode=mode, deeper=False)
    experiment = Experiment(target, "train" if mode == "train" else "eval", request, PLACES, CountingBackend())
    return experiment.run(lambda _run, _complete: None, lambda _text: None)


@torch._dynamo.disable
def restless(x: torch.Tensor) -> torch.Tensor:
    found: torch.Tensor = Restless.apply(x)
    return found


def test_gradients_that_differ_between_eager_runs_are_not_judged() -> None:
    run = ran(restless, "train")
    assert run.numerics is not None
    assert run.numerics.equal is None
    assert "two eager runs of the same input already differ (gradient of" in run.numerics.detail


def test_one_eager_run_with_gradients_and_one_compile_give_the_verdict() -> None:
    run = ran(torch.sin, "train")
    assert run.numerics is not None
    assert (run.numerics.equal, run.fullgraph.passes, run.compiled_share) == (True, True, 1.0)
    assert calls.count("eager") == 2
    assert calls.count("traced") == 2
