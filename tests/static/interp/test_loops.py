"""Which rounds of a loop are interpreted."""

from __future__ import annotations

import textwrap

import pytest

from graphdoctor.static.domain.events import Call

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
