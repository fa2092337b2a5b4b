"""Functions that torch.func transforms, compared with Dynamo: what is compiled is entered, and so is what it calls."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x, scale=1):
        print("called")
        return self.layer(x) * scale


net = Net()
weights = dict(net.named_parameters())


def loss(weight, x):
    print("called")
    return (weight * x).sum()


def run(x):
    x = x + 1
    return {call}


compiled = torch.compile(run)
"""


@pytest.mark.parametrize(
    "call",
    [
        "torch.func.grad(loss)(x, x)",
        "torch.func.jacrev(loss)(x, x)",
        "torch.func.jacfwd(loss)(x, x)",
        "torch.func.hessian(loss)(x, x)",
        "torch.func.vjp(lambda weight: loss(weight, x), x)[0]",
        "torch.func.jvp(lambda weight: loss(weight, x), (x,), (x,))[0]",
        "torch.vmap(loss)(x, x)",
        "torch.func.functional_call(net, weights, (x,))",
        "torch.func.functional_call(net, weights, x)",
        "torch.func.functional_call(net, weights, args=(x,), kwargs={'scale': 2})",
    ],
)
def test_a_function_that_is_transformed_is_followed(tmp_path: Path, splits: Callable[..., bool], call: str) -> None:
    torch = pytest.importorskip("torch")
    source = SOURCE.replace("{call}", call)
    assert _found(tmp_path, source) == {"GD101"}
    assert splits(source, "run", torch.rand(2, 4))
    quiet = source.replace('print("called")', "pass")
    assert _found(tmp_path, quiet) == set()
    assert not splits(quiet, "run", torch.rand(2, 4))


@pytest.mark.parametrize("made", ["torch.func.grad(loss)", "torch.vmap(loss)", "functools.partial(loss, scale)"])
def test_a_function_is_entered_through_what_is_made_of_it(
    tmp_path: Path, splits: Callable[..., bool], made: str
) -> None:
    torch = pytest.importorskip("torch")
    source = f"import functools\n{SOURCE}\nscale = torch.ones(4)\nmade = {made}\ncompiled = torch.compile(made)\n"
    source = source.replace("{call}", "x")
    assert _found(tmp_path, source) == {"GD101"}
    given = (torch.rand(4),) if "partial" in made else (torch.rand(4), torch.rand(4))
    assert splits(source, "made", *given)


def _found(folder: Path, source: str) -> set[str]:
    file = folder / "net.py"
    file.write_text(source)
    return {finding.rule for finding in analyse([(file, file.name)]).findings}
