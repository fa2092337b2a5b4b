"""Layers of a list that a loop compiles in place, compared with how many graphs there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphdoctor.lint import catalog
from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        return self.inner(x).relu()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([{layer} for _ in range(2)])
        {grown}

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


model = Model()
{loop}
"""
LAYER = "nn.TransformerEncoderLayer(8, 2)"


@pytest.mark.parametrize(
    ("layer", "grown", "loop", "flagged"),
    [
        (LAYER, "pass", "for layer in model.layers:\n    layer.compile(backend='eager')", True),
        (LAYER, "pass", "for i, layer in enumerate(model.layers):\n    layer.compile(backend='eager')", True),
        (LAYER, "for layer in self.layers:\n            layer.compile(backend='eager')", "", True),
        ("Block()", "pass", "for layer in model.layers:\n    layer.compile(backend='eager')", False),
        ("Block()", "pass", "for i, layer in enumerate(model.layers):\n    layer.compile(backend='eager')", False),
        (LAYER, "self.layers.append(Block())", "for layer in model.layers:\n    layer.compile(backend='eager')", False),
        (
            LAYER,
            "pass",
            "for i, layer in enumerate(model.layers):\n    model.layers[i] = torch.compile(layer, backend='eager')",
            False,
        ),
    ],
)
def test_a_loop_over_a_list_of_modules(tmp_path: Path, layer: str, grown: str, loop: str, flagged: bool) -> None:
    torch = pytest.importorskip("torch")
    file = tmp_path / "train.py"
    file.write_text(SOURCE.format(layer=layer, grown=grown, loop=loop))
    assert ("GD628" in {finding.rule for finding in analyse([(file, file.name)]).findings}) is flagged
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    names["model"](torch.rand(2, 3, 8))
    # From torch 2.14 on all of them are compiled.
    active = catalog.holding(catalog.rules(), torch.__version__)
    reported = "GD628" in {finding.rule for finding in analyse([(file, file.name)], active).findings}
    assert (torch._dynamo.utils.counters["stats"]["unique_graphs"] == 0) is reported
