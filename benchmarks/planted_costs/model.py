"""Three blocks that wait, and a backend whose graphs wait for another time: what compiling gains is known."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import fx, nn


class Costs(NamedTuple):
    """Seconds of a step in eager, of one compiled as a whole, block by block and for any sizes; of one compilation."""

    eager: float
    whole: float
    regional: float
    dynamic: float
    compiling: float


#: By what has to be found.
COSTS = {
    "best": Costs(0.024, 0.006, 0.015, 0.036, 0.2),
    "tie": Costs(0.120, 0.120, 0.120, 0.120, 0.2),
    "slower": Costs(0.024, 0.036, 0.030, 0.042, 0.2),
    "never_paid_back": Costs(0.240, 0.232, 0.270, 0.270, 8.0),
}
BLOCKS = 3


@torch.library.custom_op("graphdoctor_benchmark::wait", mutates_args=())
def wait(x: torch.Tensor, seconds: float) -> torch.Tensor:
    """Zeros, after a time."""
    time.sleep(seconds)
    return torch.zeros_like(x)


@wait.register_fake
def _(x: torch.Tensor, seconds: float) -> torch.Tensor:
    return torch.zeros_like(x)


def backend(costs: Costs) -> Callable[..., Any]:
    """A backend that takes ``costs.compiling`` for each graph, and gives it the costs of its way of compiling."""

    def compiled(graph: fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        time.sleep(costs.compiling)
        waits = [node for node in graph.graph.nodes if node.target is torch.ops.graphdoctor_benchmark.wait.default]
        any_size = any(isinstance(one, torch.SymInt) for one in inputs)
        whole = costs.dynamic if any_size else costs.whole
        for node in waits:
            node.args = (node.args[0], (whole if len(waits) == BLOCKS else costs.regional) / BLOCKS)
        graph.recompile()
        return graph.forward

    return compiled


def planted(name: str) -> tuple[nn.Module, tuple[torch.Tensor]]:
    """A model and its input, with the backend "planted" for it."""
    torch._dynamo.register_backend(backend(COSTS[name]), name="planted")
    return Net(COSTS[name]), (torch.ones(4, 8),)


class Block(nn.Module):
    """A layer that takes its time."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.seconds = seconds

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).relu() + wait(x.detach(), self.seconds)


class Net(nn.Module):
    """The blocks one after another."""

    def __init__(self, costs: Costs) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(costs.eager / BLOCKS) for _ in range(BLOCKS))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x
