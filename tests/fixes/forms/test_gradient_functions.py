"""The gradient of an expression is computed with its value."""

from __future__ import annotations

from typing import Any

import pytest

PROGRAM = """\
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))


def f(x):
    energy = net(x).sum()
    {}
    return energy, force


def graphdoctor_target():
    return f, (torch.rand(4, 3, requires_grad=True),)
"""


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("force = -torch.autograd.grad(energy, x, create_graph=True)[0]", "force = -energy_grad"),
        ("(force,) = torch.autograd.grad(energy, x, retain_graph=True)", "(force,) = (energy_grad.detach(),)"),
        ("force = torch.autograd.grad(energy, x, retain_graph=True)[0].abs()", "force = energy_grad.detach().abs()"),
    ],
)
def test_value_gradient_and_what_flows_through_them_are_the_same(
    fixed: Any, runner: Any, line: str, written: str
) -> None:
    import torch

    source = PROGRAM.format(line)
    after = fixed(source, unsafe=True).text
    made = "    energy_grad, energy = torch.func.grad_and_value(lambda x: net(x).sum())(x)\n"
    assert f"{made}    {written}\n" in after
    assert fixed(after).findings == ()
    results = []
    for text, compiled in ((source, False), (after, False), (after, True)):
        x = torch.linspace(0, 1, 12).reshape(4, 3).requires_grad_()
        energy, force = runner.compiled(text, x, fullgraph=True).value if compiled else runner.eager(text, x)
        (energy + force.square().sum()).backward()
        results.append((energy.detach(), force.detach(), x.grad, torch.tensor(force.requires_grad)))
    for other in results[1:]:
        assert all(torch.allclose(a, b) for a, b in zip(results[0], other, strict=True))
