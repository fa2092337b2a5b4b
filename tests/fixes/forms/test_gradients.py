"""What only autograd's bookkeeping needs stays in eager."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.forms.gradients import grad_flag_in_eager

SOURCE = "import torch\n\n\ndef f(x):\n    y = x * 2\n    y.retain_grad()\n    return y.sum()\n"


def test_retain_grad_is_left_out_under_compile(make: Any, runner: Any) -> None:
    import torch

    after = make(SOURCE, marker="retain_grad").after(grad_flag_in_eager)
    assert "    if not torch.compiler.is_compiling():\n        y.retain_grad()\n" in after
    x = torch.ones(3, requires_grad=True)
    assert runner.compiled(SOURCE, x).breaks > 0
    for fullgraph in (False, True):
        result = runner.compiled(after, x, fullgraph=fullgraph)
        assert (result.breaks, result.graphs) == (0, 1)
        assert torch.equal(result.value, runner.eager(SOURCE, x))


HISTORY = """\
import torch


def f(x):
    y = x.to(x.dtype)
    z = x * 2
    if {}:
        return z + 1
    return z - 1


def graphdoctor_target():
    return f, (torch.ones(3),)
"""


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("z.grad_fn is not None", "not z.is_leaf"),
        ("z.grad_fn is None", "z.is_leaf"),
        ("not z.grad_fn", "z.is_leaf"),
        ("z.grad_fn", "not z.is_leaf"),
        ("y.grad_fn is None and (z.grad_fn is not None) == True", "y.is_leaf and (not z.is_leaf) == True"),
        ("not z.grad_fn is None", "not z.is_leaf"),
        ("z.detach().grad_fn is not None", "not z.detach().is_leaf"),
    ],
)
def test_a_leaf_is_asked_for_in_place_of_a_history(fixed: Any, runner: Any, asked: str, written: str) -> None:
    import torch

    source = HISTORY.format(asked)
    after = fixed(source)
    assert f"    if {written}:\n" in after.text
    assert after.safety("GD501") == "safe"
    for requires_grad in (False, True):
        x = torch.ones(3, requires_grad=requires_grad)
        for no_grad in (False, True):
            with torch.set_grad_enabled(not no_grad):
                result = runner.compiled(after.text, x, fullgraph=True)
                assert (result.breaks, result.graphs) == (0, 1)
                assert torch.equal(result.value, runner.eager(source, x))


EQUATION = """\
import torch

net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))


def f(x):
    u = net(x)
    du = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
    d2u = torch.autograd.grad(du[:, :1], x, torch.ones_like(u), create_graph=True)[0]
    return (d2u - u).square().mean()


def graphdoctor_target():
    return f, (torch.rand(4, 2, requires_grad=True),)
"""


def test_gradients_of_gradients_are_in_the_graph_and_so_is_the_backward_of_what_they_give(
    fixed: Any, runner: Any
) -> None:
    import torch

    after = fixed(EQUATION, unsafe=True)
    assert "import torch\n\ntorch._dynamo.config.trace_autograd_ops = True\n" in after.text
    assert fixed(after.text).findings == ()
    x = torch.rand(4, 2, requires_grad=True)
    torch.manual_seed(0)
    expected = runner.eager(EQUATION, x)
    expected.backward()
    slope, x.grad = x.grad, None
    torch.manual_seed(0)
    result = runner.compiled(after.text, x, fullgraph=True)
    assert (result.breaks, result.graphs) == (0, 1)
    result.value.backward()
    assert torch.allclose(result.value, expected) and torch.allclose(x.grad, slope)


STEP = """\
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))


def f(x):
    loss = net(x).square().mean()
    loss.backward()
    return loss.detach(), net[0].weight.grad


def graphdoctor_target():
    return f, (torch.rand(4, 2),)
"""


def test_a_backward_in_the_graph_adds_to_the_gradients(fixed: Any, runner: Any) -> None:
    import torch

    after = fixed(STEP, unsafe=True)
    assert "torch._dynamo.config.trace_autograd_ops = True\n" in after.text
    x = torch.rand(4, 2)
    original, rewritten = runner.load(STEP), runner.load(after.text)
    torch._dynamo.reset()
    compiled = torch.compile(rewritten.f, backend="aot_eager", fullgraph=True)
    for _ in range(3):
        (loss, grad), (expected, expected_grad) = compiled(x), original.f(x)
        assert torch.allclose(loss, expected) and torch.allclose(grad, expected_grad)


@pytest.mark.parametrize(
    "lines",
    [
        "x.requires_grad_()\n    return net(x)",
        "y = x[:1].requires_grad_()\n    return slope(net(y), y)",
        "y = x.clone()\n    y.requires_grad = True\n    return {'energy': net(y), 'positions': y}",
        "y = x.clone().requires_grad_()\n    net.given = y\n    return net(y)",
    ],
)
def test_what_others_may_take_gradients_of_must_require_them(make: Any, lines: str) -> None:
    source = f"import torch\n\n\ndef f(x):\n    {lines}\n"
    kind = cst.Attribute if "requires_grad = " in lines else cst.Call
    refused = make(source, kind, marker="requires_grad").refusal(grad_flag_in_eager)
    assert "may take gradients of it: what they are taken of must require them before the call" in refused


def test_what_the_function_keeps_for_itself_requires_gradients_in_eager_only(make: Any) -> None:
    source = "import torch\n\n\ndef f(x):\n    y = x.detach().requires_grad_()\n    return net(y) * y\n"
    after = make(source, marker="requires_grad").after(grad_flag_in_eager)
    assert "    if not torch.compiler.is_compiling():\n        y.requires_grad_()\n" in after
