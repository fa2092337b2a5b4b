"""Ten backends that change what code does, and a model that each is seen with.

A script finds them by name, as it finds any backend that a package registers with torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx, nn

from graphdoctor.dynamic.user_code.target import Mode
from graphdoctor.model.audit import Oracle

Backend = Callable[[fx.GraphModule, list[Any]], Callable[..., Any]]


class Net(nn.Module):
    """Writes to its argument, and gives a part of it back."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x.mul_(2)
        return self.linear(x).tanh(), x[0]


class Plain(nn.Module):
    """One result."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(torch.sin(x)).tanh() * 2


class LooksUp(nn.Module):
    """Raises for the sample."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.arange(3)[x.sum().long().reshape(1)]


def _operator(name: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Backend:
    """A backend that treats the operator ``name`` wrongly, wherever it is."""

    class Changed(fx.Interpreter):
        def run_node(self, n: fx.Node) -> Any:
            found = super().run_node(n)
            called = str(getattr(n.target, "__name__", n.target))
            return change(found) if n.op.startswith("call") and called == name else found

    def backend(graph: fx.GraphModule, _inputs: list[Any]) -> Callable[..., Any]:
        return lambda *args: Changed(graph).run(*args)

    return backend


def _outputs(number: int, change: Callable[[torch.Tensor], torch.Tensor]) -> Backend:
    """A backend that changes the output ``number``; the first where there are not so many."""

    def backend(graph: fx.GraphModule, _inputs: list[Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            outputs = graph(*args)
            wrong = min(number, len(outputs) - 1)
            return tuple(change(out) if at == wrong else out for at, out in enumerate(outputs))

        return run

    return backend


def on_copies(graph: fx.GraphModule, _inputs: list[Any]) -> Callable[..., Any]:
    """Loses what the graph writes to its inputs."""
    return lambda *args: graph(*(a.clone() if isinstance(a, torch.Tensor) and a.is_leaf else a for a in args))


def swallowing(graph: fx.GraphModule, _inputs: list[Any]) -> Callable[..., Any]:
    """Gives zero where the graph raises."""

    def run(*args: Any) -> Any:
        try:
            return graph(*args)
        except IndexError:
            return (torch.zeros(1, dtype=torch.int64),)

    return run


def failing(_graph: fx.GraphModule, _inputs: list[Any]) -> Callable[..., Any]:
    """Compiles nothing."""
    raise NotImplementedError("no kernel")


@dataclass(frozen=True)
class Planted:
    """A backend, what it is seen with, and the oracle that has to see it."""

    backend: Backend
    model: type[nn.Module]
    mode: Mode
    oracle: Oracle
    #: The operator in which it starts, where it is one.
    operator: str = ""


PLANTED = {
    "planted_sign": Planted(_operator("tanh", torch.neg), Plain, "eval", "outputs", "tanh"),
    "planted_sign_train": Planted(_operator("sin", torch.neg), Plain, "train", "outputs", "sin"),
    "planted_precision": Planted(_operator("tanh", lambda t: t.half().float()), Plain, "eval", "outputs", "tanh"),
    "planted_stride": Planted(_outputs(0, lambda t: t.t().contiguous().t()), Plain, "eval", "metadata"),
    "planted_dtype": Planted(_outputs(0, torch.Tensor.double), Plain, "eval", "metadata"),
    "planted_alias": Planted(_outputs(1, torch.clone), Net, "eval", "aliasing"),
    "planted_gradient": Planted(
        _operator("linear", lambda t: t.detach() + 0 * t), Plain, "train", "gradients", "linear"
    ),
    "planted_lost_write": Planted(on_copies, Net, "eval", "state"),
    "planted_swallowed": Planted(swallowing, LooksUp, "eval", "exceptions"),
    "planted_failure": Planted(failing, Plain, "train", "exceptions"),
}


def __getattr__(name: str) -> Backend:
    """The backend ``name``, as an entry point asks for it."""
    if name in PLANTED:
        return PLANTED[name].backend
    raise AttributeError(name)
