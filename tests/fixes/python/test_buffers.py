"""A mask that the constructor makes selects by indices that the constructor computes."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest
import torch

from graphdoctor.fixes.python.buffers import read_once
from graphdoctor.static.domain.values import UNKNOWN

MODEL = """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
{made}

    def others(self):
        mask = torch.ones((4, 4), dtype=bool)
        for i in range(2):
            mask[i, i + 2] = False
        return mask

    def forward(self, x):
{lines}


def graphdoctor_target():
    return Net(), (torch.rand(4, 4),)
"""


def model(made: str, *lines: str) -> str:
    return MODEL.format(
        made="".join(f"        {line}\n" for line in made.split("; "))[:-1],
        lines="".join(f"        {line}\n" for line in lines)[:-1],
    )


@pytest.mark.parametrize(
    "made, line, written, value",
    [
        (
            "self.mask = self.others()",
            "return self.layer(x)[self.mask].reshape(2, -1)",
            "return self.layer(x).flatten(0, 1)[self._mask_index].reshape(2, -1)",
            "self.mask.flatten()",
        ),
        (
            "self.register_buffer('mask', torch.rand(4, 4) > 0.5)",
            "return (x * 2)[~self.mask]",
            "return (x * 2).flatten(0, 1)[self._mask_index]",
            "(~self.mask).flatten()",
        ),
        (
            "self.rows = torch.rand(4) > 0.5",
            "return self.layer(x)[:, self.rows]",
            "return self.layer(x)[:, self._rows_index]",
            "self.rows",
        ),
    ],
)
def test_selects_by_indices(fixed: Any, runner: Any, made: str, line: str, written: str, value: str) -> None:
    source = model(made, line)
    after = fixed(source, unsafe=True).text
    name = "_rows_index" if "rows" in made else "_mask_index"
    kept = f'self.register_buffer("{name}", {value}.nonzero().squeeze(1), persistent=False)'
    assert after == model(f"{made}; {kept}", written)
    models = []
    for text in (source, after):
        torch.manual_seed(0)
        models.append(runner.load(text).Net())
    x = torch.rand(4, 4)
    now = torch.compile(models[1], backend="eager", fullgraph=True)
    torch.testing.assert_close(now(x), models[0](x), rtol=0, atol=0)
    assert models[1].state_dict().keys() == models[0].state_dict().keys()


@pytest.mark.parametrize(
    "made, lines, why",
    [
        (
            "self.mask = self.others()",
            ["self.mask = self.mask.to(x.device)", "return x[self.mask]"],
            "The mask depends on more than buffers that nothing changes.",
        ),
        (
            "self.mask = self.others()",
            ["self.mask[0, 0] = False", "return x[self.mask]"],
            "The mask depends on more than buffers that nothing changes.",
        ),
        (
            "self.mask = self.others()",
            ["return x[0, self.mask]"],
            "How many dimensions the mask has is not known, or it stands among other indices.",
        ),
    ],
)
def test_refusal(refusal: Any, made: str, lines: list[str], why: str) -> None:
    assert refusal(read_once, model(made, *lines), (cst.Subscript, "self.mask]"), UNKNOWN) == why
