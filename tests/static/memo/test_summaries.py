"""A function is interpreted once for each kind of arguments, and what it says is as sure as the surest call of it."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Call, Truth
from graphdoctor.static.interp import calls

HEAD = """
import copy
import torch
from torch import nn

def helper(v):
    return v.item()
"""


def reads(found):
    return [e for e in found if isinstance(e, Call) and e.qualname == "torch.Tensor.item"]


@pytest.mark.parametrize(
    ("body", "conditional", "whole_frame"),
    [
        ("    a = helper(x)\n    b = helper(x)", [False], [False]),
        # The second call is surer than the first, and is looked at again.
        ("    if flag:\n        helper(x)\n    return helper(x)", [True, False], [False, False]),
        ("    a = helper(x)\n    if flag:\n        helper(x)", [False], [False]),
        ("    a = helper(x)\n    for i in range(9):\n        helper(x)", [False, False], [False, True]),
        ("    for i in range(9):\n        helper(x)\n    return helper(x)", [False], [True]),
        # What only an error path reads is not said; that it was interpreted there says nothing of the next call.
        ("    if flag:\n        raise ValueError(helper(x))\n    return helper(x)", [False], [False]),
        ("    a = helper(x)\n    if flag:\n        raise ValueError(helper(x))", [False], [False]),
    ],
)
def test_a_call_is_interpreted_again_only_where_it_is_surer(events, body, conditional, whole_frame):
    found = reads(events(f"{HEAD}\n@torch.compile\ndef f(x: torch.Tensor, flag: bool):\n{body}\n"))
    assert [e.site.conditional for e in found] == conditional
    assert [bool(e.site.whole_frame) for e in found] == whole_frame


def test_another_kind_of_argument_is_another_call(events):
    body = "\n@torch.compile\ndef f(x: torch.Tensor):\n    helper(3)\n    helper(x)\n    helper(x)\n    helper([x])\n"
    assert len(reads(events(HEAD + body))) == 1


LAYERS = """
class Config:
    gate: bool = False

class Layer(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.proj = nn.Linear(8, 8)

    def forward(self, x):
        if x.sum() > 0:
            return self.proj(x)
        return x

class Stack(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.layers = nn.ModuleList([Layer(config) for _ in range(6)])
        self.last = Layer(config)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.last(x)

class Head(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.stack = Stack(config)

    def forward(self, x):
        return self.stack(x)
"""


def test_objects_of_one_kind_are_built_once(events, monkeypatch):
    ran = []
    run_body = calls.run_body

    def counted(interpreter, frame, info):
        ran.append(info.qualname)
        return run_body(interpreter, frame, info)

    monkeypatch.setattr(calls, "run_body", counted)
    found = events(HEAD + LAYERS)
    assert ran.count("Layer.__init__") == ran.count("Stack.__init__") == 1
    # For an assumed argument, for what a layer gives, and for both.
    assert ran.count("Layer.forward") <= 3
    assert {e.site.function for e in found if isinstance(e, Truth)} == {"Layer.forward"}


def test_a_copy_of_an_object_is_another_object(events):
    source = """
class Net(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.first = copy.deepcopy(config)
        self.first.gate = False
        self.second = copy.deepcopy(config)
        self.second.gate = True

    def forward(self, x: torch.Tensor):
        if self.first.gate:
            x.item()
        if self.second.gate:
            x = x + x.item()
        return x
"""
    config = "\nclass Config:\n    gate: bool = False\n"
    found = reads(events(HEAD + config + source))
    assert [(e.site.module.location(e.node).line, e.site.conditional) for e in found] == [(24, False)]


BLOCK = """
class Block(nn.Module):
    quiet = False

    def __init__(self, size: int):
        super().__init__()
        self.proj = nn.Linear(size, size)

    def forward(self, x):
        if not self.quiet:
            print(x.shape)
        return self.proj(x)
"""


@pytest.mark.parametrize(
    "build",
    [
        "self.first = Block(8)\n        self.first.quiet = True\n        self.second = Block(8)",
        "self.first = Block(8)\n        self.second = Block(8)\n        self.first.quiet = True",
        "self.first, self.second = Block(8), Block(8)\n        for block in [self.second]:\n            block.quiet = True",
    ],
)
def test_what_is_set_on_one_object_is_not_set_on_its_like(events, build):
    net = (
        f"\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {build}\n\n"
        "    def forward(self, x: torch.Tensor):\n        return self.second(self.first(x))\n"
    )
    found = events(HEAD + BLOCK + net)
    assert [e.qualname for e in found if isinstance(e, Call) and e.qualname == "builtins.print"]
