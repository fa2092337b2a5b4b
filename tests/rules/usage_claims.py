"""What the scripts of usage claims share: their list, a small model, and what is counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch._dynamo.utils import counters

#: By the name of the function.
CLAIMS: dict[str, Callable[[], Any]] = {}
X = torch.rand(2, 4)


def claim(function: Callable[[], Any]) -> Callable[[], Any]:
    CLAIMS[function.__name__] = function
    return function


def graphs(call: Callable[[], Any]) -> int:
    """The graphs compiled by ``call``."""
    torch._dynamo.reset()
    counters.clear()
    call()
    return int(counters["stats"]["unique_graphs"])


def raised(call: Callable[[], Any]) -> str:
    """The class and first line of what ``call`` raises."""
    torch._dynamo.reset()
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
    return ""


def compiled(model: Any, **options: Any) -> Any:
    return torch.compile(model, **{"backend": "eager", **options})


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.second(self.first(x).relu())
        return out

    def generate(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self(x)
        return out


def train(model: Any) -> None:
    model(X).sum().backward()
