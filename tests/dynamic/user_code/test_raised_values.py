"""The tensors and layers on a line that raised."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.user_code.raised_values import raised_values
from graphdoctor.dynamic.user_code.user_errors import fault_of


class Watched:
    """Attributes of the user's objects are not asked for."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was asked for")


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(8, 2)
        self.body = nn.Sequential(nn.Linear(8, 2), nn.ReLU())
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x: torch.Tensor, odd: Any = None) -> torch.Tensor:
        h = x * 2
        y: torch.Tensor = self.proj(h) + self.body(h) + self.scale.sum() + odd.value
        return y

    def twice(self, x: torch.Tensor) -> torch.Tensor:
        return self.forward(x)


def raised(run: Any) -> BaseException:
    with pytest.raises(RuntimeError) as caught:
        run()
    return caught.value


def test_tensors_and_layers_are_named_as_the_line_has_them() -> None:
    error = raised(lambda: Model()(torch.ones(4, 20), Watched()))
    line = Model.forward.__code__.co_firstlineno + 2
    assert raised_values(error, __file__, line) == (
        "self.proj Linear(in_features=8, out_features=2, bias=True)",
        "h float32[4, 20]",
        "self.body Sequential",
        "self.scale float32[3]",
    )


def test_the_fault_has_the_values_of_its_line() -> None:
    places = Places(root="/p", own=(__file__.rpartition("/")[0],), torch=torch.__path__[0])
    fault = fault_of(raised(lambda: Model().twice(torch.ones(4, 20))), places, "in eager")
    assert "h float32[4, 20]" in fault.raised_with


def test_a_line_without_a_frame_has_no_values() -> None:
    assert raised_values(RuntimeError(), __file__, 1) == ()
