"""What a tensor can be where a branch stands, by the code that ran before it."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.proof.domain import domain, is_on_device_of
from graphdoctor.fixes.proof.operators import KINDS

ALL = set(KINDS)
HEAD = """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4, affine=False)
        self.net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, x: torch.Tensor, y: torch.Tensor, flag: bool):
"""
KNOWN = {
    "an argument": ("pass", ALL),
    "the result of a layer": ("x = self.linear(y)", {"float"}),
    "the result of layers": ("x = self.net(y)", {"float"}),
    "the input of a layer": ("z = self.linear(x)", {"float"}),
    # Of no rows, it gives back what it is given: a bool, too.
    "normed": ("x = self.norm(y)", ALL),
    "normed after a layer": ("y = self.linear(y)\nx = self.norm(y)", {"float"}),
    "the input of a norm": ("z = self.norm(x)", ALL),
    "with a residual": ("x = self.linear(y) + y", {"float", "complex"}),
    "no bool is subtracted from": ("z = x - 1", ALL - {"bool"}),
    "a mean was computed": ("z = x.mean()", {"float", "complex"}),
    "converted": ("x = y.float()", ALL),
    "converted from a real": ("y = torch.relu(y)\nx = y.float()", {"float"}),
    "a comparison": ("x = y > 0", {"bool"}),
    "bound on one path": ("if flag:\n    x = y", ALL),
    "bound before, used in a branch": ("x = self.linear(y)\nif flag:\n    y = x", {"float"}),
    "only used on one path": ("if flag:\n    z = self.linear(x)", ALL),
    "only used where Python may not come to it": ("z = flag and x - 1", ALL),
    "bound by a loop": ("for x in y:\n    pass", ALL),
    "bound by a pattern": ("match y:\n    case x:\n        pass", ALL),
    "deleted": ("x = self.linear(y)\ndel x\nx = y", ALL),
}


def branch(make: Any, body: str) -> Any:
    lines = f"{body}\nif x.sum() > 0:\n    x = x * 2\nreturn x".split("\n")
    return make(HEAD + "".join(f"        {line}\n" for line in lines), cst.If, "x.sum()")


@pytest.mark.parametrize("name", KNOWN)
def test_domain(make: Any, name: str) -> None:
    body, kinds = KNOWN[name]
    case = branch(make, body)
    assert domain("x", case.hit.event.branch, case.editor).kinds == kinds


@pytest.mark.parametrize(
    "body, same",
    [
        ("x = self.linear(y)", True),
        ("x = y * 2", True),
        ("z = y * 2\nx = self.linear(z)", True),
        ("x = y.cuda()", False),
        ("x = self.linear(y) if flag else y", False),
        ("pass", False),
    ],
)
def test_tensors_that_share_a_device(make: Any, body: str, same: bool) -> None:
    case = branch(make, body)
    assert is_on_device_of("y", "x", case.hit.event.branch, case.editor) is same
