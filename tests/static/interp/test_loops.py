"""Which rounds of a loop are interpreted."""

from __future__ import annotations

import textwrap

import pytest

from graphdoctor.static.domain.events import Call, CompiledCall
from graphdoctor.static.domain.values import Const

HEAD = """
import torch

@torch.compile
def f(x: torch.Tensor, items: list):
"""


def calls(events, body: str, name: str) -> int:
    source = HEAD + textwrap.indent(textwrap.dedent(body).strip(), "    ")
    return sum(isinstance(e, Call) and e.qualname == f"torch.Tensor.{name}" for e in events(source))


@pytest.mark.parametrize(
    "body",
    [
        "for i in items:\n    y = x.relu()",
        "for i in items:\n    x = x.relu()",
        "for i in items:\n    y = x.relu()\n    x = y + i",
        "while items:\n    x = x.relu()\n    items = items[1:]",
    ],
)
def test_a_round_that_starts_like_the_one_before_is_not_interpreted(events, body) -> None:
    assert calls(events, body, "relu") == 1


@pytest.mark.parametrize(
    "body",
    [
        "y = None\nfor i in items:\n    if y is not None:\n        y.abs()\n    y = x.sum()",
        "for i in items:\n    if i:\n        y.abs()\n    y = x.sum()",
        "for i in items:\n    z = i and y.abs()\n    y = x.sum()",
        "y = None\nwhile y is None or y.abs():\n    y = x.sum()",
        "while items and y.abs():\n    y = x.sum()",
    ],
)
def test_what_a_round_leaves_for_the_next_is_known_there(events, body) -> None:
    assert calls(events, body, "abs") == 1


def test_the_loader_of_a_loop_is_known_where_the_loop_or_a_function_makes_it(events):
    found = events(
        """
        import itertools

        import torch
        from torch.utils.data import DataLoader

        net = torch.compile(torch.nn.Sequential(torch.nn.Linear(4, 4)))

        def loader(data):
            return DataLoader(data, batch_size=2)

        def train(data, batches):
            for x in loader(data):
                net(x)
            for i, x in enumerate(DataLoader(data, batch_size=3)):
                net(x)
            for x in itertools.cycle(DataLoader(data, batch_size=4)):
                net(x)
            for x in batches:
                net(x)
        """,
        everywhere=True,
    )
    calls = [e for e in found if isinstance(e, CompiledCall)]
    sizes = {e.site.module.location(e.node).line: [made.kwargs["batch_size"] for made in e.loaders] for e in calls}
    assert sizes == {14: [Const(2)], 16: [Const(3)], 18: [Const(4)], 20: []}
