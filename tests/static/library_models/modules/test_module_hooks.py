"""Which hooks run in compiled code, compared with where Dynamo ends the graph: each hook here prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
from functools import partial

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.blocks = nn.ModuleList([Block() for _ in range(2)])
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])

    def forward(self, x):
        x = self.blocks[1](self.blocks[0](x))
        x = self.layers[1](self.layers[0](x))
        return self.body(x).sum()


def hook(module, inputs, output):
    print(output.shape)


def before(module, inputs):
    print(len(inputs))


def named(name, module, inputs, output):
    print(name, output.shape)


def given(module, args, kwargs, output):
    print(kwargs, output.shape)


def shapes(net, x):
    handles = [part.register_forward_hook(hook) for part in net.modules()]
    net(x)
    for handle in handles:
        handle.remove()


def use(net, x):
    {use}


use(Net(), torch.rand(2, 4))
"""

COMPILED = "torch.compile(net, backend='eager')(x)"


@pytest.mark.parametrize(
    "use",
    [
        "net.body.register_forward_hook(hook)",
        "net.blocks[0].register_forward_hook(hook)",
        "net.body[0].register_forward_hook(hook)",
        "net.body[1].register_forward_pre_hook(before)",
        "net.register_forward_hook(given, with_kwargs=True)",
        "[part.register_forward_hook(hook) for part in net.modules()]",
        "[part.register_forward_hook(hook) for part in net.children()]",
        "[part.register_forward_pre_hook(before) for name, part in net.named_modules() if 'body' in name]",
        "for name, part in net.named_modules(): part.register_forward_hook(partial(named, name))",
        "for part in net.modules():\n        if isinstance(part, nn.Linear): part.register_forward_hook(hook)",
        "for layer in net.layers: layer.register_forward_hook(hook)",
        "for i, layer in enumerate(net.layers): layer.register_forward_hook(lambda *given: print(i, len(given)))",
        "for block in net.blocks: block.layer.register_forward_hook(hook)",
        "dict(net.named_modules())['body.1'].register_forward_hook(lambda *given: print(len(given)))",
        # It is registered again after it was removed.
        "shapes(net, x)\n    for part in net.modules(): part.register_forward_hook(hook)",
    ],
)
def test_a_hook_runs_in_the_compiled_code(tmp_path: Path, use: str) -> None:
    assert _hook_breaks(tmp_path, use) == (True, True)


@pytest.mark.parametrize(
    "use",
    [
        "shapes(net, x)",
        "net.body.register_forward_hook(hook).remove()",
        "handle = net.blocks[0].register_forward_hook(hook)\n    net(x)\n    handle.remove()",
        "handles = [net.body.register_forward_hook(hook)]\n    net(x)\n    for handle in handles: handle.remove()",
        "with net.body.register_forward_hook(hook): net(x)",
        "with net.body[0].register_forward_hook(hook) as handle:\n        net(x)",
        "for part in Net().modules(): part.register_forward_hook(hook)",
    ],
)
def test_a_hook_that_was_removed_or_is_on_another_module_does_not_run(tmp_path: Path, use: str) -> None:
    assert _hook_breaks(tmp_path, use) == (False, False)


def test_what_a_hook_returns_takes_the_place_of_what_it_gets(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    text = SOURCE.replace("{use}", f"net.body.register_forward_pre_hook(lambda *_: 3)\n    {COMPILED}")
    file.write_text(text.replace("return self.body(x).sum()", "return self.body(x) if self.body else x"))
    assert analyse([(file, file.name)]).findings == ()


def _hook_breaks(folder: Path, use: str) -> tuple[bool, bool]:
    """Whether the static pass says that a hook splits the graph, and whether it does."""
    torch = pytest.importorskip("torch")
    file = folder / "net.py"
    file.write_text(SOURCE.replace("{use}", f"{use}\n    {COMPILED}"))
    found = [finding.rule for finding in analyse([(file, file.name)]).findings]
    assert set(found) <= {"GD101"}
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    exec(compile(file.read_text(), str(file), "exec"), {})
    return bool(found), bool(torch._dynamo.utils.counters["graph_break"])
