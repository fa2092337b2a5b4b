"""What compiles alone: the largest parts that do, the smallest that do not."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.modules import diverge, readiness, recorded_calls
from graphdoctor.dynamic.tracing.backend import CountingBackend
from graphdoctor.dynamic.user_code.target import Sample, Target
from graphdoctor.model.runs import DynamicRun, FullGraph
from graphdoctor.model.submodules import ModuleNode, Readiness

FOLDER = str(Path(__file__).parent)
PLACES = Places(root=FOLDER, own=(FOLDER,), torch=str(Path(torch.__file__).parent))


pytestmark = pytest.mark.usefixtures("fresh_dynamo")


class Printing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        print("printing")
        return self.linear(x) * scale


class Sliding(nn.Module):
    """Gives another result where it is compiled."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1 if torch.compiler.is_compiling() else x


class Net(nn.Module):
    def __init__(self, bad: type[nn.Module]) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 4), nn.Sequential(bad(), nn.ReLU()), nn.Linear(4, 4))
        self.generator = (i for i in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x)  # type: ignore[no-any-return]


def target(bad: type[nn.Module]) -> Target:
    return Target("Net", lambda: Sample(Net(bad), (torch.ones(2, 4),)), torch.device("cpu"))


def check(bad: type[nn.Module], whole: FullGraph) -> Readiness:
    nodes = (ModuleNode("body.0", "Linear", "compiled", 3, 1.0, 0, 0),)
    run = DynamicRun("Net", "eval", "cpu", "ok", fullgraph=whole, modules=nodes)
    result = readiness.check(target(bad), "eval", run, CountingBackend(), PLACES)
    assert result is not None
    return result


def test_the_smallest_culprit_and_the_largest_ready_parts() -> None:
    line = Printing.forward.__code__.co_firstlineno + 1
    result = check(Printing, FullGraph(False, "print", "test_readiness.py", line))
    assert [(v.name, v.path, v.line) for v in result.culprits] == [("body.1.0", "test_readiness.py", line)]
    assert [v.name for v in result.ready] == ["body.0", "body.1.0.linear", "body.1.1", "body.2"]
    # Two Linear of the same shapes, on the same inputs, are one try.
    assert [v.like for v in result.ready if v.name == "body.2"] == ["body.0"]


def test_a_model_that_compiles_is_not_opened() -> None:
    result = check(nn.ReLU, FullGraph(True))
    assert [v.name for v in result.ready] == [""]
    assert not result.culprits
    assert result.compiled == 0


def test_the_first_submodule_that_differs_is_the_smallest() -> None:
    assert diverge.first(target(Sliding), "eval", CountingBackend()) == "body.1.0"
    assert diverge.first(target(nn.Tanh), "eval", CountingBackend()) is None


def test_inputs_are_kept_as_they_were_before_the_call() -> None:
    class InPlace(nn.Module):
        def forward(self, x: torch.Tensor, *, by: float) -> torch.Tensor:
            return x.add_(by)

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = InPlace()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x, by=2.0)  # type: ignore[no-any-return]

    sample = Sample(Outer(), (torch.zeros(2),))
    recorded = recorded_calls.record(sample)
    args, kwargs = recorded["inner"].inputs or ((), {})
    assert args[0].tolist() == [0.0, 0.0]
    assert kwargs == {"by": 2.0}
    assert recorded["inner"].order < recorded[""].order
    assert sample.module is not None
    assert not sample.module.inner._forward_pre_hooks


def test_inputs_that_cannot_be_copied_are_said() -> None:
    class Taking(nn.Module):
        def forward(self, numbers: Iterator[int]) -> torch.Tensor:
            return torch.ones(next(numbers))

    sample = Sample(Taking(), (iter([2]),))
    recorded = recorded_calls.record(Sample(sample.function, ((i for i in [2]),)))
    with pytest.raises(ValueError, match="cannot be copied"):
        recorded[""].sample(nn.ReLU())
