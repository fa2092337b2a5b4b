"""A layer of torch that is compiled in place, of which nothing is compiled.

What: `layer.compile()` where `layer` is a layer of torch, such as an `nn.TransformerEncoderLayer`, an `nn.Sequential`
of such layers, or an `nn.ModuleList`.

Why: Dynamo does not compile frames of torch's own layers that no frame of another file calls, and `compile()` in
place adds none: 0 graphs, and no message. A list of modules is never called. `torch.compile(layer)` adds such a
frame, and from torch 2.14 on `compile()` does too. A module of a class of your own is compiled, and is not reported.

Fix: `layer.forward = torch.compile(layer.forward)`, or `layer = torch.compile(layer)`; of a list compile each module.
"""

from __future__ import annotations

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.comprehensions import GROWS
from graphdoctor.static.usage.events import Use

from ._shared import code, is_of_torch

CODE = "GD628"
NAME = "layer-not-compiled"
SEVERITY = "error"
GB_IDS = ()
TORCH = ">=2.6,<2.14"

BREAKS = (
    """\
import torch.nn as nn


def main():
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    net.compile()  # flagged
    return net


def f(x):
    return x * 2
""",
    """\
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoderLayer(8, 2)
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))
        self.layers.compile()  # flagged

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.encoder(x) * torch.sigmoid(x)


def main():
    model = Model()
    model.encoder.compile()  # flagged
    return model


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch
from torch import nn


def main():
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    net.forward = torch.compile(net.forward)
    return net, torch.compile(nn.Linear(8, 8))


def f(x):
    return x * 2
""",
    """\
from torch import nn


class Own(nn.Sequential):
    def forward(self, x):
        return super().forward(x) + x


def main(block, layers):
    for net in (Own(nn.Linear(8, 8)), nn.Sequential(*layers), nn.Sequential(block), nn.TransformerEncoder(block, 2)):
        net.compile()


def f(x):
    return x * 2
""",
    """\
from torch import nn


class Block(nn.Module):
    def forward(self, x):
        return x * 2


def main():
    mixed, grown = nn.Sequential(nn.Linear(8, 8), Block()), nn.Sequential(nn.Linear(8, 8))
    grown.append(Block())
    mixed.compile()
    grown.compile()
    return mixed, grown


def f(x):
    return x * 2
""",
)


def check_use(event: Use) -> Hit | None:
    step = event.step
    layer = step.receiver if step.name == ".compile" else None
    if layer is None or layer.unsure or layer.maker is None or event.parts(layer):
        return None
    name = layer.made_by.rpartition(".")[2]
    if layer.made_by == "torch.nn.ModuleList":
        return Hit(event, f"{code(event)} compiles nothing: an `nn.{name}` is never called", "compile its modules")
    changed = any(other.name in GROWS for other in layer.steps)
    if changed or not is_of_torch(layer):
        return None
    advice = "compile the forward: `layer.forward = torch.compile(layer.forward)`"
    return Hit(event, f"{code(event)} compiles nothing: in an `nn.{name}` there is no frame of your code", advice)
