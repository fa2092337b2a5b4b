"""What the verdict is made of: eager runs, the counted compile, and when they are made again."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.parent.protocol import RunRequest
from graphdoctor.dynamic.tracing import crosscheck
from graphdoctor.dynamic.tracing.backend import CountingBackend
from graphdoctor.dynamic.user_code.target import Sample, Target
from graphdoctor.dynamic.worker.experiment import Experiment
from graphdoctor.dynamic.worker.later_breaks import CALLS
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
    return ran_as(lambda: Net(last), mode)


def ran_as(build: Callable[[], nn.Module], mode: str) -> DynamicRun:
    target = Target("f", lambda: Sample(build(), (torch.ones(2, 4),)), torch.device("cpu"))
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


def rounded(x: torch.Tensor) -> torch.Tensor:
    return x if torch.compiler.is_compiling() else x + 1e-7


def disturbed(x: torch.Tensor) -> torch.Tensor:
    counted = not torch.compiler.is_compiling() and torch._C._len_torch_dispatch_stack() > 0
    return x + 1 if counted else x


def other(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if torch.compiler.is_compiling() else x


def test_one_eager_run_and_one_compile_give_the_verdict() -> None:
    run = ran(torch.sin, "train")
    assert run.numerics is not None
    assert (run.numerics.equal, run.fullgraph.passes, run.compiled_share) == (True, True, 1.0)
    # Each later call is compiled again, because the list grows, up to the last of the few that are made.
    assert calls == ["eager", *["traced"] * (1 + CALLS)]


@pytest.mark.parametrize(("last", "equal", "eager"), [(rounded, True, 2), (disturbed, True, 3), (other, False, 6)])
def test_eager_runs_again_where_something_differs(last: Callable[..., Any], equal: bool, eager: int) -> None:
    run = ran(last, "eval")
    assert run.numerics is not None and run.numerics.equal is equal
    assert calls.count("eager") == eager


@torch._dynamo.disable
def in_python(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def skipped(x: torch.Tensor) -> torch.Tensor:
    for _ in range(2):
        print("loop")
    return x


@pytest.mark.parametrize(
    "last",
    [
        torch.sin,
        in_python,
        skipped,
        lambda x: torch.stack([x + n for n in range(3)]),
        lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)),
        lambda x: x * x.sum().item(),
        lambda x: x if x.sum() > 0 else -x,
        lambda x: torch.zeros(2).requires_grad_() + x.sum(),
    ],
)
def test_a_single_graph_answers_for_fullgraph(last: Callable[[torch.Tensor], torch.Tensor]) -> None:
    run = ran(last, "eval")
    again = crosscheck.fullgraph(Sample(Net(last), (torch.ones(2, 4),)), CountingBackend(), PLACES)
    assert run.fullgraph == again


def test_modules_that_torch_makes_up_are_nobodys_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """``torch.ops`` has a file without a folder, which a scan started in the project's folder finds there."""
    monkeypatch.chdir(tmp_path)
    places = Places(root=str(tmp_path), own=(str(tmp_path),), torch=PLACES.torch)
    (tmp_path / "helper_of_this_test.py").write_text("cache = {}\n")
    monkeypatch.syspath_prepend(tmp_path)
    helper = importlib.import_module("helper_of_this_test")
    target = Target("f", lambda: Sample(abs, (torch.ones(2),)), torch.device("cpu"))
    request = RunRequest(tmp_path / "f.py", tmp_path)
    found = Experiment(target, "eval", request, places, CountingBackend()).modules()
    assert helper in found and torch.ops not in found


TABLE = np.linspace(0.0, 1.0, 4)


def test_what_is_a_constant_in_the_graph_is_not_left_to_eager() -> None:
    run = ran(lambda y: y * torch.from_numpy(TABLE).to(y.device).float(), "eval")
    assert (run.graphs, run.breaks, run.fullgraph.passes, run.compiled_share) == (1, (), True, 1.0)


class Checkpointed(nn.Module):
    def __init__(self, before: nn.Module) -> None:
        super().__init__()
        self.before, self.inner = before, nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = checkpoint(self.inner, self.before(x), use_reentrant=True)
        return found


@pytest.mark.filterwarnings("ignore:None of the inputs")
@pytest.mark.parametrize(
    ("before", "note"), [(nn.Identity, "were not compared"), (lambda: nn.Linear(4, 4), "")], ids=["input", "layer"]
)
def test_gradients_that_a_reentrant_checkpoint_keeps_from_eager_code(
    before: Callable[[], nn.Module], note: str
) -> None:
    run = ran_as(lambda: Checkpointed(before()), "train")
    assert (run.graphs, run.breaks) == (1, ())
    assert run.numerics is not None and run.numerics.equal is True, run.numerics
    assert note in run.numerics.detail and bool(run.numerics.detail) is bool(note)


def test_code_that_goes_backward_itself_leaves_no_graph_to_do_it_again() -> None:
    class Step(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            loss: torch.Tensor = self.linear(x).pow(2).mean()
            loss.backward()
            return loss

    run = ran_as(Step, "train")
    assert (run.outcome, run.raised_with, run.numerics and run.numerics.equal) == ("ok", (), True)
