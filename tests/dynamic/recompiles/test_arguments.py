import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from graphdoctor.dynamic.recompiles import arguments


@dataclass(frozen=True)
class Batch:
    ids: torch.Tensor
    scale: int


class Net(nn.Module):
    def forward(self, x: torch.Tensor, *rest: torch.Tensor) -> torch.Tensor:
        return x


def test_names_are_those_of_the_parameters() -> None:
    def function(x: Any, y: Any = None, *, z: Any = None) -> None: ...

    assert arguments.names(function, 2) == ["x", "y"]
    assert arguments.names(Net(), 3) == ["x", "rest[0]", "rest[1]"]
    assert arguments.names(torch.relu, 1) == ["argument 0"]


class WithoutGradients(nn.Module):
    @torch.no_grad()
    def forward(self, tokens: torch.Tensor, start: int = 0) -> torch.Tensor:
        return tokens + start


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*values: Any, **options: Any) -> Any:
        return function(*values, **options)

    return wrapper


class Wrapped(nn.Module):
    @wrapped
    def forward(self, tokens: torch.Tensor, start: int = 0) -> torch.Tensor:
        return tokens + start


def test_names_behind_a_decorator_are_those_of_what_it_wraps() -> None:
    assert arguments.names(WithoutGradients(), 2) == ["tokens", "start"]
    assert arguments.names(Wrapped(), 2) == ["tokens", "start"]


def test_a_wrapper_with_parameters_of_its_own_keeps_their_names() -> None:
    def function(x: Any) -> None: ...

    @functools.wraps(function)
    def wrapper(scale: Any, x: Any) -> None: ...

    assert arguments.names(wrapper, 2) == ["scale", "x"]


def test_guards_on_what_a_wrapper_gets_name_the_parameters() -> None:
    given = (torch.ones(2),), {"start": 1}
    size = "tensor '{}' size mismatch at index 0. expected 4, actual 5"
    assert arguments.renamed(WithoutGradients(), given, size.format("args[0]")) == size.format("tokens")
    assert arguments.renamed(WithoutGradients(), given, "kwargs['start'] == 0") == "start == 0"
    # A wrapper of the user's is compiled as it is, with the module among its arguments.
    assert arguments.renamed(Wrapped(), given, size.format("values[1]")) == size.format("tokens")
    assert arguments.renamed(Net(), given, "args[0] == 0") == "args[0] == 0"


def test_leaves_have_the_names_of_guards() -> None:
    def function(batch: Any, n: Any) -> None: ...

    batch = {"ids": torch.ones(2), "more": [torch.ones(3)], "data": Batch(torch.ones(4), 5)}
    found = arguments.leaves(function, ((batch,), {"n": 6}))
    assert list(found) == ["batch['ids']", "batch['more'][0]", "batch['data'].ids", "batch['data'].scale", "n"]


def test_a_change_leaves_the_original_alone() -> None:
    def function(batch: Any) -> None: ...

    batch = {"data": Batch(torch.ones(4), 5), "pair": (1, 2)}
    new, _ = arguments.changed(
        function, ((batch,), {}), lambda name, value: value * 10 if isinstance(value, int) else value
    )
    assert (new[0]["data"].scale, new[0]["pair"]) == (50, (10, 20))
    assert (batch["data"].scale, batch["pair"]) == (5, (1, 2))  # type: ignore[attr-defined]


def test_a_container_can_be_replaced_as_a_whole() -> None:
    def function(xs: Any) -> None: ...

    new, _ = arguments.changed(
        function, (([torch.ones(2)] * 3,), {}), lambda name, value: torch.stack(value) if name == "xs" else value
    )
    assert new[0].shape == (3, 2)
