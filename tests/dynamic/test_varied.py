"""Rewrites of a branch, right and wrong on the side that the sample does not take, in eager on varied inputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from graphdoctor.dynamic import numerics, varied
from graphdoctor.dynamic.experiment import default_loss
from graphdoctor.dynamic.target import Sample, Target
from graphdoctor.run_model import Varied

Forward = Callable[[nn.Module, torch.Tensor], torch.Tensor]


class Net(nn.Module):
    def __init__(self, body: Forward) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.body = body

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(self, x)


def branch(net: Any, x: torch.Tensor) -> torch.Tensor:
    return x * net.weight if x.sum() > 0 else -x * net.weight.exp()


def select(net: Any, x: torch.Tensor) -> torch.Tensor:
    return torch.where(x.sum() > 0, x * net.weight, -x * net.weight.exp())


def one_side(net: Any, x: torch.Tensor) -> torch.Tensor:
    return x * net.weight


def root(net: Any, x: torch.Tensor) -> torch.Tensor:
    return (x * net.weight).sqrt() if x.min() > 0 else x * net.weight


def select_root(net: Any, x: torch.Tensor) -> torch.Tensor:
    return torch.where(x.min() > 0, (x * net.weight).sqrt(), x * net.weight)


def guard(net: Any, x: torch.Tensor) -> torch.Tensor:
    if x.isnan().any():
        raise ValueError("bad")
    return x * net.weight


def other_guard(net: Any, x: torch.Tensor) -> torch.Tensor:
    if x.isnan().any():
        raise RuntimeError("bad")
    return x * net.weight


def compared(folder: Path, original: Forward, fixed: Forward, mode: Any) -> Varied:
    def run(sample: Sample) -> numerics.Snapshot:
        outputs = sample.function(*sample.args)
        if mode == "train":
            loss = default_loss(outputs)
            assert loss is not None
            loss.backward()
        return numerics.snapshot(sample, outputs)

    def target(body: Forward) -> Target:
        return Target("Net", lambda: Sample(Net(body), (torch.tensor([0.5, 1.0, 2.0]),)), torch.device("cpu"))

    varied.record(target(original), mode, run, folder)
    return varied.check(target(fixed), mode, run, folder)


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_a_right_rewrite_holds_on_all_inputs(tmp_path: Path, mode: str) -> None:
    found = compared(tmp_path, branch, select, mode)
    assert found == Varied(mode, calls=len(varied.VARIATIONS))


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_a_side_that_the_sample_does_not_take_is_compared(tmp_path: Path, mode: str) -> None:
    found = compared(tmp_path, branch, one_side, mode)
    assert found.differs.startswith("with the inputs negated output: values differ by up to ")


def test_a_gradient_that_becomes_nan_is_seen_in_train_mode_alone(tmp_path: Path) -> None:
    assert compared(tmp_path, root, select_root, "eval").differs == ""
    found = compared(tmp_path, root, select_root, "train")
    assert found.differs.startswith("with the inputs negated gradient of ")


def test_exceptions_are_told_from_results(tmp_path: Path) -> None:
    assert compared(tmp_path, guard, guard, "eval").raises == ""
    found = compared(tmp_path, guard, other_guard, "eval")
    assert found.differs == ""
    assert found.raises == "with one NaN in each input it raises RuntimeError: bad, and the original ValueError: bad"
    gone = compared(tmp_path, guard, one_side, "eval")
    assert gone.differs == "with one NaN in each input only the original raises ValueError: bad"
