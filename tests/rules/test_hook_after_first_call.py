"""Hooks that compiled code does not call, beside those that it calls."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.head = nn.Linear(4, 4)

    def forward(self, x):
        return self.head(self.body(x))


class Trainer:
    def __init__(self, net):
        self.net = net
        self.model = torch.compile(net, backend="eager")

    def step(self, x):
        return self.model(x).sum().backward()

    def watch(self, hook):
        {register}


seen = []
trainer = Trainer(Net())
x = torch.rand(2, 4, requires_grad=True)
{first}
trainer.step(x)
"""

HOOK = "trainer.watch(lambda *_: seen.append(1))"


@pytest.mark.parametrize(
    "first",
    [HOOK, f"trainer.step(x)\n{HOOK}", f"trainer.net(x)\n{HOOK}", f"trainer.step(x)\ntorch._dynamo.reset()\n{HOOK}"],
)
@pytest.mark.parametrize(
    "register",
    [
        "self.net.head.register_forward_hook(hook)",
        "self.model.body[0].register_forward_pre_hook(hook)",
        "self.model.head.register_full_backward_hook(hook)",
        "self.net.get_submodule('head').register_forward_hook(hook)",
        "[layer.register_forward_hook(hook) for layer in self.net.children()]",
        "self.net.register_forward_hook(hook)",
        "self.model.register_forward_hook(hook)",
        "self.net.head.weight.register_hook(hook)",
    ],
)
def test_a_hook_is_reported_where_nothing_calls_it(tmp_path: Path, first: str, register: str) -> None:
    file = tmp_path / "train.py"
    file.write_text(SOURCE.format(first=first, register=register))
    found = {finding.rule for finding in analyse([(file, "train.py")]).findings}
    torch._dynamo.reset()
    namespace: dict[str, object] = {}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    assert ("GD636" in found) == (not namespace["seen"])


def test_layers_of_another_model_are_none_of_the_compiled_one(tmp_path: Path) -> None:
    net = SOURCE.partition("class Trainer")[0]
    loop = "for name, layer in other.named_modules():\n    layer.register_forward_hook(print)\n"
    file = tmp_path / "train.py"
    file.write_text(f"{net}model, other = torch.compile(Net()), Net()\nmodel(torch.rand(2, 4))\n{loop}")
    assert analyse([(file, "train.py")]).findings == ()


@pytest.mark.parametrize("hooked", ["net.head", "net", "model", "model.head"])
def test_hooks_of_the_compiled_wrapper_run_outside_compiled_code(tmp_path: Path, hooked: str) -> None:
    file = tmp_path / "train.py"
    net = SOURCE.partition("class Trainer")[0]
    hook = f"{hooked}.register_forward_hook(lambda *_: print(1))"
    file.write_text(f'{net}net = Net()\nmodel = torch.compile(net, backend="eager")\n{hook}\nmodel(torch.rand(2, 4))\n')
    found = {finding.rule for finding in analyse([(file, "train.py")]).findings}
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    exec(compile(file.read_text(), str(file), "exec"), {})
    assert ("GD101" in found) == bool(torch._dynamo.utils.counters["graph_break"])
