"""The mode that a run is shown with: that of a module that is called, and none for a function that calls modules."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from graphdoctor.cli import cli

SOURCE = """\
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 4), nn.Dropout())


def loss(x):
    return net(x).square().mean()


def graphdoctor_target():
    return {target}, (torch.rand(2, 4),)
"""


@pytest.mark.parametrize(
    ("target", "options", "title"),
    [
        ("loss", [], "loss, on cpu"),
        ("loss", ["--mode", "train"], "loss, train mode, on cpu"),
        ("net", ["--mode", "eval", "--device", "cpu"], "Sequential, eval mode, on cpu"),
        ("net.forward", ["--mode", "eval", "--device", "cpu"], "Sequential.forward, eval mode, on cpu"),
    ],
)
def test_a_function_has_no_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, options: list[str], title: str
) -> None:
    (tmp_path / "net.py").write_text(SOURCE.format(target=target))
    monkeypatch.chdir(tmp_path)
    text = CliRunner().invoke(cli, ["scan", "net.py", "--quick", *options]).output
    assert f"{title}: 1 graph" in text


@pytest.mark.parametrize(
    ("flag", "frozen", "shown"),
    [
        ("self.training", "", True),
        ("x.shape[0] > 9", "", False),
        ("self.training", "self.w = nn.Parameter(torch.ones(1), requires_grad=False)", False),
    ],
)
def test_a_module_without_parameters_that_asks_for_its_mode_is_run_in_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flag: str, frozen: str, shown: bool
) -> None:
    source = f"""\
import torch
from torch import nn


class Noise(nn.Module):
    def __init__(self):
        super().__init__()
        {frozen or "self.scale = 2"}

    def forward(self, x):
        if {flag}:
            torch._dynamo.graph_break()
        return x + 1


def graphdoctor_target():
    return Noise(), (torch.rand(2, 4),)
"""
    (tmp_path / "net.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    text = CliRunner().invoke(cli, ["scan", "net.py", "--quick", "--device", "cpu"]).output
    assert ("Noise, train mode, on cpu" in text) == shown
    assert ("Not ready in train mode: 1 graph break" in text) == shown
