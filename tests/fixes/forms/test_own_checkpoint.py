"""A class that checkpoints by hand gives way to the library's function."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.forms.own_checkpoint import library_checkpoint
from graphdoctor.static.domain.values import UNKNOWN

CALL = """\
    values = tuple(inputs) + tuple(params)
    return Anew.apply(function, len(inputs), *values)
"""
FORWARD = """\
    def forward(ctx, run, count, *values):
        ctx.run = run
        ctx.inputs = list(values[:count])
        ctx.params = list(values[count:])
        with torch.no_grad():
            found = ctx.run(*ctx.inputs)
        return found
"""
RETURNED = "(None, None) + gradients"
PROGRAM = """\
import torch


def again(function, inputs, params):
{call}

class Anew(torch.autograd.Function):
    @staticmethod
{forward}
    @staticmethod
    def backward(ctx, *given):
        inputs = [x.detach().requires_grad_(True) for x in ctx.inputs]
        with torch.enable_grad():
            found = ctx.run(*[x.view_as(x) for x in inputs])
        gradients = torch.autograd.grad(found, inputs + ctx.params, given, allow_unused=True)
        return {returned}


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x, y):
        return again(self.inner, (x, y), self.parameters())

    def inner(self, x, y):
        return self.linear(x).relu() * y


def f(x, y):
    net = Net()
    out = net(x, y)
    out.square().sum().backward()
    return out, x.grad, y.grad, net.linear.weight.grad
"""


def program(call: str = CALL, forward: str = FORWARD, returned: str = RETURNED) -> str:
    return PROGRAM.format(call=call, forward=forward, returned=returned)


@pytest.mark.parametrize(
    ("call", "written"),
    [
        (CALL, "    return torch.utils.checkpoint.checkpoint(function, *inputs, use_reentrant=False)\n"),
        (
            "    out = Anew.apply(function, len(inputs), *(tuple(inputs) + tuple(params)))\n    return out\n",
            "    out = torch.utils.checkpoint.checkpoint(function, *inputs, use_reentrant=False)\n    return out\n",
        ),
        (
            "    return Anew.apply(function, len(inputs), *inputs, *params)\n",
            "    return torch.utils.checkpoint.checkpoint(function, *inputs, use_reentrant=False)\n",
        ),
    ],
)
def test_the_gradients_are_the_same_and_it_is_one_graph(fixed: Any, runner: Any, call: str, written: str) -> None:
    import torch

    source = program(call)
    after = fixed(source + "\n\nnet = torch.compile(Net())\n", unsafe=True).text
    assert f"def again(function, inputs, params):\n{written}\n\nclass Anew" in after
    given = [(torch.ones(2, 4).requires_grad_(), torch.full((2, 4), 2.0).requires_grad_()) for _ in range(2)]
    one, other = (runner.eager(text, *inputs) for text, inputs in zip((source, after), given, strict=True))
    assert all(torch.allclose(a, b) for a, b in zip(one, other, strict=True))
    names: dict[str, Any] = {}
    exec(after, names)
    torch._dynamo.reset()
    compiled = torch.compile(names["Net"](), backend="eager", fullgraph=True)
    assert torch.allclose(compiled(*given[0]), one[0])


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            program(forward=FORWARD.replace("run, count, *values", "run, *values")),
            "Its forward does not get a function, a number of inputs, and the inputs.",
        ),
        (
            program(forward=FORWARD.replace("values[:count]", "values[1:count]")),
            "Its forward does not run the function with the first of what it gets.",
        ),
        (
            program(forward=FORWARD.replace("        return found", "        found = found * 2\n        return found")),
            "Its forward computes more than the function gives.",
        ),
        (
            program(returned="(None,) + gradients"),
            "Its backward does not return the gradients of what the function got.",
        ),
        (program(CALL + CALL), "`Anew.apply` is not called exactly once in this file."),
        (program("    pass\n"), "`Anew.apply` is not called exactly once in this file."),
        *(
            (
                program(f"    return Anew.apply({arguments})\n"),
                "It is not called with a function, the number of its inputs, the inputs, and parameters.",
            )
            for arguments in (
                "function, len(inputs)",
                "function, 2, *inputs, *params",
                "function, len(inputs), *params, *inputs",
                "function, len(inputs), inputs[0], inputs[1]",
            )
        ),
        (
            program(CALL.replace("    return", "    print(values)\n    return")),
            "It is not called with a function, the number of its inputs, the inputs, and parameters.",
        ),
        ("import torch\n\n\ndef f(x, y):\n    return torch.autograd.grad(y, x)\n", "This is no method of a class."),
    ],
)
def test_refusal(refusal: Any, source: str, reason: str) -> None:
    assert refusal(library_checkpoint, source, (cst.Call, "autograd.grad"), UNKNOWN) == reason
