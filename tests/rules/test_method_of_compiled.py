"""Methods of compiled models of libraries, whose classes are not read: only the program shows what is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

PROGRAM = """\
import torch
from library import Model, evaluate


class Store:
    def __init__(self, model):
        self.model = model
        {kept}

    def activations(self, tokens):
        return self.model.{method}(tokens)


class Runner:
    def __init__(self):
        self.model = Model.load("small")
        self.model = torch.compile(self.model)
        self.store = Store(self.model)
        {more}

    def run(self, tokens):
        return self.store.activations(tokens)


Runner().run(torch.zeros(1, 4))
"""


@pytest.mark.parametrize(
    ("method", "kept", "more", "found"),
    [
        ("run_with_cache", "", "", ["GD606"]),
        ("encode", "self.width = self.model.config.width", "print(self.model)", ["GD606"]),
        # No pass of the model, by its name; the model is called, too; a library may call it; the program hands it out.
        ("tokenize", "", "", []),
        ("embed_tokens", "", "", []),
        ("encode", "", "self.model(torch.zeros(1, 4))", []),
        ("encode", "", "self.model.forward(torch.zeros(1, 4))", []),
        ("encode", "evaluate(self.model)", "", []),
        ("encode", "self.parts = [self.model]", "", []),
        ("encode", "self.step = lambda x: self.model(x)", "", []),
    ],
)
def test_a_method_that_is_all_that_is_called(
    tmp_path: Path, method: str, kept: str, more: str, found: list[str]
) -> None:
    file = tmp_path / "run.py"
    file.write_text(PROGRAM.format(method=method, kept=kept, more=more))
    assert [f.rule for f in analyse([(file, "run.py")]).findings] == found


PARALLEL = """\
import torch
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(x)

    def loss(self, x):
        return self(x).sum()

    def width(self):
        return 8


def main(x):
    net = Net()
    {inside}
    model = {wrapped}
    raw = model.module
    return {called}
"""


@pytest.mark.parametrize(
    ("wrapped", "called", "inside", "found"),
    [
        ("torch.compile(DDP(net))", "model.module.loss(x)", "", ["GD606"]),
        ("torch.compile(DDP(net))", "raw.loss(x)", "", ["GD606"]),
        ("DDP(torch.compile(net))", "model.module.loss(x)", "", ["GD606"]),
        ("torch.compile(DDP(net))", "model.module.loss(x)", "net.compile()", ["GD603"]),
        ("torch.compile(DDP(net))", "model.module.width()", "", []),
        ("torch.compile(DDP(net))", "model.module(x)", "", []),
        ("torch.compile(DDP(net))", "model._orig_mod.module.loss(x)", "", []),
        ("torch.compile(DDP(net))", "net.loss(x)", "", []),
        ("DDP(net)", "model.module.loss(x)", "", []),
    ],
)
def test_a_method_is_taken_out_of_a_compiled_parallel_model(
    tmp_path: Path, wrapped: str, called: str, inside: str, found: list[str]
) -> None:
    file = tmp_path / "train.py"
    file.write_text(PARALLEL.format(wrapped=wrapped, called=called, inside=inside))
    assert [f.rule for f in analyse([(file, "train.py")]).findings] == found


SAMPLER = """\
import torch
from torch import nn


class Diffusion(nn.Module):
    def __init__(self, unet):
        super().__init__()
        self.unet = nn.Linear(4, 4)
        self.decoder = nn.Linear(4, 4)

    def forward(self, x):
        return self.decoder(self.unet(x))

    def step(self, x):
        return x - self.unet(x)

    def sample(self, x):
        {body}
        return x


diffusion = torch.compile(Diffusion())
diffusion.sample(torch.rand(2, 4))
"""
WHOLE = "compile the method too: `model.sample = torch.compile(model.sample)`"


@pytest.mark.parametrize(
    ("body", "advice"),
    [
        ("for _ in range(50): x = self.step(x)", "which compiling `sample` would unroll: `model.unet.compile()`"),
        ("while len(x): x = self.unet(x)[1:]", "which compiling `sample` would unroll: `model.unet.compile()`"),
        ("x = self.step(x)", WHOLE),
        ("for _ in range(50): x = self.decoder(self.step(x))", WHOLE),
    ],
)
def test_of_a_sampler_the_layer_in_its_loop_is_to_be_compiled(tmp_path: Path, body: str, advice: str) -> None:
    file = tmp_path / "sample.py"
    file.write_text(SAMPLER.format(body=body))
    (finding,) = analyse([(file, "sample.py")]).findings
    assert (finding.rule, finding.severity) == ("GD606", "warning")
    assert finding.suggestion.endswith(advice)
