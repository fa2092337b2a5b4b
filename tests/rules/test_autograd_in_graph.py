"""Where ``requires_grad_()`` of a result breaks: where it does not require a gradient already."""

from __future__ import annotations

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(8, 4)
        self.head = nn.Linear(4, 4)

    def forward(self, ids, scale):
        x = {value}
        x.requires_grad_(True)
        return self.head(x)

    def scaled(self, scale):
        return scale * 2


def graphdoctor_target():
    return Net(), (torch.tensor([1, 2]), torch.rand(4))
"""


@pytest.mark.parametrize(
    ("value", "breaks"),
    [("self.embed(ids)", False), ("scale * 2", True), ("self.scaled(scale)", True), ("self.embed(ids).detach()", True)],
)
def test_what_layers_give_requires_a_gradient_already(tmp_path, value, breaks):
    torch = pytest.importorskip("torch")
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(value=value))
    assert [f.rule for f in analyse([(file, file.name)]).findings] == (["GD501"] if breaks else [])
    names: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    model, inputs = names["graphdoctor_target"]()
    assert (torch._dynamo.explain(model)(*inputs).graph_break_count > 0) is breaks


OWN = """\
import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        {statement}
        return grad * y


@torch.compile(backend="eager")
def f(x):
    return Double.apply(x)
"""


@pytest.mark.parametrize(
    ("statement", "breaks"),
    [("y = ctx.x.detach().requires_grad_(True)", False), ("y = torch.zeros(4, requires_grad=True)", True)],
)
def test_what_a_backward_asks_of_its_own_tensors_is_taken_for_granted(tmp_path, splits, statement, breaks):
    torch = pytest.importorskip("torch")
    file = tmp_path / "own.py"
    file.write_text(OWN.format(statement=statement))
    assert [f.rule for f in analyse([(file, file.name)]).findings] == (["GD501"] if breaks else [])
    assert splits(file.read_text(), "f", torch.rand(4, requires_grad=True)) is breaks
