"""Numbers that calls count in attributes and in what they hold: no call but the first finds what the constructor set."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Call, Truth
from graphdoctor.static.domain.values import Tensor

MODEL = """
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, warmup):
        super().__init__()
        self.seen = 0
        self.size = 0
        self.size += 4
        self.warmup = warmup
        self.held = {"calls": 0}

    def forward(self, x):
        BODY
        return x

    def count(self):
        self.seen += 1
        self.held["calls"] += 1


class Other(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = 0

    def forward(self, x):
        if self.seen > 3:
            if x.sum() > 1:
                x = x + 1
        return x
"""


def decided(events, body: str) -> list[bool]:
    """Of each place at which tensor data decides, whether a setting is needed for it."""
    source = MODEL.replace("BODY", body.replace("\n", "\n        "))
    return [e.site.optional for e in events(source) if isinstance(e, Truth) and isinstance(e.value, Tensor)]


@pytest.mark.parametrize(
    ("body", "optional"),
    [
        ("if self.seen > 3:\n    if x.sum() > 0:\n        x = x + 1", [False]),
        ("if self.seen >= self.warmup and x.sum() > 0:\n    x = x + 1", [False]),
        ("if self.seen < 3 or x.sum() > 0:\n    x = x + 1", [False]),
        # What is only added up in the constructor is known.
        ("if self.size > 9 and x.sum() > 0:\n    x = x + 1", []),
        ("if self.size > 9:\n    if x.sum() > 0:\n        x = x + 1", []),
        ('if self.held["calls"] > 3:\n    if x.sum() > 0:\n        x = x + 1', [False]),
        ('self.held["calls"] += 1\nif self.held["calls"] > 3:\n    if x.sum() > 0:\n        x = x + 1', [False]),
        # Whether a setting is on is not for calls to decide.
        ("if self.warmup and x.sum() > 0:\n    x = x + 1", [True]),
    ],
)
def test_a_test_of_a_count_is_met_by_some_call(events, body, optional):
    assert decided(events, body) == optional


def test_a_number_that_functions_bind_anew_is_not_the_one_that_the_file_begins_with(events):
    found = events("""
        import torch

        step = 0
        SIZE = 0

        @torch.compile
        def f(x):
            global step
            step += 1
            if step % 4 == 0:
                x.sum().item()
            if SIZE % 4 == 1:
                x.max().item()
            return x
    """)
    read = [e.site.module.location(e.node).line for e in found if isinstance(e, Call) and e.qualname.endswith(".item")]
    assert read == [12]
