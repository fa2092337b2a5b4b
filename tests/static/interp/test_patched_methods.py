"""Methods that a program replaces, in one object or in the class, compared with Dynamo."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import types
from functools import partial

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x)

    def verbose(self, x):
        print("called")
        return self.layer(x)


def forward(self, x):
    print("called")
    return self.layer(x)


net = Net()
{patch}
compiled = torch.compile(net)
"""


@pytest.mark.parametrize(
    "patch",
    [
        "Net.forward = forward",
        "Net.forward = Net.verbose",
        "net.forward = net.verbose",
        "net.forward = types.MethodType(forward, net)",
        "net.forward = forward.__get__(net, Net)",
        "net.forward = forward.__get__(net)",
        "net.forward = partial(forward, net)",
        "setattr(Net, 'forward', forward)",
        "setattr(net, 'forward', types.MethodType(forward, net))",
        "for part in (net,):\n    part.forward = types.MethodType(forward, part)",
    ],
)
def test_the_method_that_takes_the_place_is_what_is_compiled(
    tmp_path: Path, splits: Callable[..., bool], patch: str
) -> None:
    torch = pytest.importorskip("torch")
    source = SOURCE.replace("{patch}", patch)
    assert _found(tmp_path, source) == ["GD101"]
    assert splits(source, "net", torch.rand(2, 4))


@pytest.mark.parametrize(
    ("patch", "rules"),
    [
        ("def patch():\n    Net.forward = forward", []),
        ("def patch():\n    Net.forward = forward\n\n\npatch()", ["GD101"]),
    ],
)
def test_a_function_replaces_a_method_where_it_is_called(
    tmp_path: Path, splits: Callable[..., bool], patch: str, rules: list[str]
) -> None:
    torch = pytest.importorskip("torch")
    source = SOURCE.replace("{patch}", patch)
    assert _found(tmp_path, source) == rules
    assert splits(source, "net", torch.rand(2, 4)) is bool(rules)


def test_the_method_whose_place_is_taken_is_not_compiled(tmp_path: Path, splits: Callable[..., bool]) -> None:
    torch = pytest.importorskip("torch")
    source = SOURCE.replace("{patch}", "Net.verbose = Net.forward\nNet.forward = lambda self, x: self.verbose(x)")
    assert _found(tmp_path, source) == []
    assert not splits(source, "net", torch.rand(2, 4))


def _found(folder: Path, source: str) -> list[str]:
    file = folder / "net.py"
    file.write_text(source)
    return [finding.rule for finding in analyse([(file, file.name)]).findings]
