"""What a checkpointed function stores, compared with where Dynamo ends the graph."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.last = None

    def forward(self, x):
        self.last = self.layer(x)
        return self.last.relu()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())

    def forward(self, x):
        return {call}
"""


@pytest.mark.parametrize(
    ("call", "rule", "line"),
    [
        ("checkpoint(self.blocks[0], x, use_reentrant=False)", "GD516", 13),
        # Dynamo does not trace it, and compiles the blocks by themselves.
        ("checkpoint_sequential(self.blocks, 2, x, use_reentrant=False)", "GD405", 23),
        ("checkpoint_sequential(self.blocks, segments=2, input=x, use_reentrant=False)", "GD405", 23),
    ],
)
def test_what_is_checkpointed_in_parts_may_store(tmp_path: Path, call: str, rule: str, line: int) -> None:
    torch = pytest.importorskip("torch")
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(call=call))
    assert [(f.rule, f.location.line) for f in analyse([(file, file.name)]).findings] == [(rule, line)]
    names: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch.compile(names["Net"](), backend="eager")(torch.rand(2, 8))
    reasons = list(torch._dynamo.utils.counters["graph_break"])
    assert reasons
    assert any("side effect" in each for each in reasons) is (rule == "GD516")


FUNCTION = """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        return x * scale

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.scale, None


class Net(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.scale = config.scale

    def inner(self, x):
        return Scale.apply(x, self.scale)

    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=False)
"""


def test_a_function_of_autograd_keeps_what_its_backward_needs(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    file = tmp_path / "net.py"
    file.write_text(FUNCTION)
    assert analyse([(file, "net.py")]).findings == ()
    names: dict[str, Any] = {}
    exec(FUNCTION, names)
    net = torch.compile(names["Net"](SimpleNamespace(scale=3.0)), backend="eager", fullgraph=True)
    x = torch.ones(2, requires_grad=True)
    net(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
