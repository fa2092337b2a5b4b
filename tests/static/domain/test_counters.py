"""Which attributes count as counters of a class."""

from __future__ import annotations

import ast
import textwrap

import pytest

from graphdoctor.static.domain.counters import counters_of


def counters(body: str) -> frozenset[str]:
    text = "import torch\nclass Net:\n" + textwrap.indent(body, "    ")
    node = ast.parse(text).body[1]
    assert isinstance(node, ast.ClassDef)
    return counters_of(node, text.split("\n"))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("def forward(self, x):\n    self.calls += 1\n", {"calls"}),
        ("def forward(self, x):\n    if x:\n        self.left -= 1\n", {"left"}),
        ("async def step(self):\n    self.seen['x'] += 1\n", {"seen"}),
        ("def step(self):\n    def inner():\n        self.n += 1\n", {"n"}),
        ("def step(self):\n    self.seen[\n        'x'\n    ] += 1\n", {"seen"}),
        ("if FAST:\n    def step(self): self.n += 1\n", {"n"}),
        ("def __init__(self):\n    self.n = 0\n    self.n += 1\n", set()),
        ("def step(self):\n    self.scale *= 2\n    other.n += 1\n    self.state.n += 1\n", set()),
        ("def step(self):\n    '''\n    self.n += 1\n    '''\n    # self.n += 1\n", set()),
        ("class Inner:\n    def step(self):\n        self.n += 1\n", set()),
    ],
)
def test_attributes_that_methods_add_to(body: str, expected: set[str]) -> None:
    assert counters(body) == expected
