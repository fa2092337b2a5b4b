"""The backward of an `autograd.Function` asserts that the model is in training mode.

What: `assert self.training` in the `backward` of a `torch.autograd.Function`, or in a method that it calls.

Why: Eager code runs a backward when gradients are computed, so a model in eval mode never comes to the assertion.
Dynamo traces the backward together with the forward: there the assertion fails, and the graph ends at the call of
`apply`. With `fullgraph=True` compiling fails.

Fix: Check the mode in the forward, or run a model in eval mode under `torch.no_grad()`, where no backward is traced.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.static.domain.events import Assert
from graphdoctor.static.rule import Hit

from ._shared import code, consequence

CODE = "GD513"
NAME = "training-in-backward"
SEVERITY = "error"
GB_IDS = ("GB0034",)
TORCH = ">=2.6"

_SAMPLE = """\
import torch
import torch.nn as nn


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, layer):
        ctx.layer = layer
        return layer.scaled(x)

    @staticmethod
    def backward(ctx, slope):
        return ctx.layer.slope_of(slope), None


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def scaled(self, x):
        {forward}
        return x * 2

    def slope_of(self, slope):
        {backward}
        return slope * 2

    def forward(self, x):
        return Scale.apply(self.linear(x), self)


def graphdoctor_target():
    return Net().{mode}(), (torch.rand(4, 8),)
"""

_ASSERT = 'assert self.training, "only in training"'

BREAKS = (_SAMPLE.format(forward="pass", backward=f"{_ASSERT}  # GB0034", mode="eval"),)

CLEAN = (
    _SAMPLE.format(forward=_ASSERT, backward="assert slope.shape[-1] == 8", mode="train"),
    _SAMPLE.format(forward="assert not self.training", backward="pass", mode="eval"),
)


def check_assert(event: Assert) -> Hit | None:
    test = event.node.test if isinstance(event.node, cst.Assert) else None
    if not event.backward or not isinstance(test, cst.Attribute) or test.attr.value != "training":
        return None
    return Hit(
        event,
        f"{code(event, test)} is asserted in a backward, which Dynamo traces with the forward, in eval mode too",
        "check the mode in the forward, or run the model in eval mode under `torch.no_grad()`",
        "likely",
        consequence=consequence(event),
    )
