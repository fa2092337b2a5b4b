"""``graphdoctor.record`` around a training loop sees what it compiles, and changes nothing."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import torch
from torch import nn

import graphdoctor


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.linear(x)
        print("step")
        return x.relu()


class Quiet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        return self.linear(x) * scale


@pytest.fixture(autouse=True)
def fresh() -> Any:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def train(model: nn.Module, sizes: list[int], **compile_options: Any) -> None:
    compiled = torch.compile(model, backend="eager", **compile_options)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for size in sizes:
        optimizer.zero_grad()
        compiled(torch.rand(size, 4)).sum().backward()
        optimizer.step()


def test_breaks_of_a_training_loop() -> None:
    trace = logging.getLogger("torch.__trace")
    handlers = list(trace.handlers)
    with graphdoctor.record() as record:
        train(Net(), [2, 2, 2])
    assert not record.ok
    assert [(f.rule, f.status) for f in record.breaks] == [("GD101", "confirmed")]
    assert record.recompiles == ()
    assert record.diagnosis.summary.graphs == 2
    assert "GD101" in repr(record)
    assert trace.handlers == handlers
    with pytest.raises(AssertionError, match="GD101"):
        record.raise_if_broken()


def test_a_loop_that_compiles_well() -> None:
    with graphdoctor.record() as record:
        # The last batch is smaller: one compilation more, and no fault.
        train(Quiet(), [4, 4, 3, 2])
    assert record.ok, str(record)
    assert record.diagnosis.summary.verdict == "ready"


def test_recompiles_that_go_on() -> None:
    model = Quiet()
    compiled = torch.compile(model, backend="eager", dynamic=False)
    with graphdoctor.record() as record:
        for size in range(2, 6):
            compiled(torch.rand(size, 4))
    assert not record.ok
    assert [(recompile.kind, recompile.dimension) for recompile in record.recompiles] == [("size", 0)]


def test_a_loop_that_ends_by_an_error_of_the_compiler() -> None:
    record = graphdoctor.record()
    with pytest.raises(torch._dynamo.exc.Unsupported), record:
        train(Net(), [2], fullgraph=True)
    assert [f.rule for f in record.breaks] == ["GD101"]


def test_the_answers_inside_the_block() -> None:
    with graphdoctor.record() as record:
        assert record.breaks == ()
        train(Net(), [2])
        assert len(record.breaks) == 1


def test_nothing_compiled_says_so() -> None:
    with graphdoctor.record() as record:
        Quiet()(torch.rand(2, 4))
    assert not record.ok
    assert record.diagnosis.summary.verdict == "nothing-compiled"
    assert "begin it before the first call" in str(record)


class Scaled(nn.Module):
    def __init__(self, factor: int) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor + int(x.sum() > -1e9)


def test_layers_that_differ_are_not_calls_that_do() -> None:
    model = torch.compile(nn.Sequential(*(Scaled(n) for n in range(1, 6))), backend="eager")
    with graphdoctor.record() as record:
        model(torch.rand(2, 4))
    assert [recompile.name for recompile in record.recompiles] == ["self.factor"]
    assert "each call" not in record.diagnosis.summary.headline


def _refusing(graph: Any, inputs: Any) -> Any:
    raise ValueError("this backend takes no graph")


def test_a_backend_that_fails_is_no_break_and_not_ready() -> None:
    record = graphdoctor.record()
    with pytest.raises(RuntimeError, match="this backend takes no graph"), record:
        torch.compile(Quiet(), backend=_refusing)(torch.rand(2, 4))
    assert not record.ok and record.breaks == ()
    assert "backend _refusing fails" in repr(record)
    assert "ValueError: this backend takes no graph, on the graph at " in " ".join(str(record).split())
