"""Steps of a LightningModule, which Lightning compiles with the forward of a compiled one."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Call
from tests.static.conftest import Interpret

SOURCE = """\
import lightning
import torch
import torch.nn as nn


class Model({base}):
    def forward(self, x):
        return x * 2

    def training_step(self, batch, batch_idx):
        x, y = batch
        return (self(x) - y).square().mean().item() * batch_idx

    def on_train_end(self):
        self.weight.sum().item()


model = {made}
"""


@pytest.mark.parametrize(
    ("base", "made", "lines"),
    [
        ("lightning.LightningModule", "torch.compile(Model())", [12]),
        ("lightning.pytorch.LightningModule", "torch.compile(Model())", [12]),
        ("lightning.LightningModule", "Model()", []),
        ("nn.Module", "torch.compile(Model())", []),
    ],
)
def test_the_steps_of_a_compiled_module(events: Interpret, base: str, made: str, lines: list[int]) -> None:
    found = events(SOURCE.format(base=base, made=made))
    items = [e for e in found if type(e) is Call and e.qualname == "torch.Tensor.item"]
    assert [e.site.module.location(e.node).line for e in items] == lines
