"""Numbers that tell equal layers apart."""

import pytest

from graphdoctor.trace.layers import is_set_by_constructor

LAYER = "class Layer:\n    def __init__(self, n):\n        self.n = n\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LAYER, True),
        (LAYER + "    def forward(self, x):\n        return x * self.n\n", True),
        (LAYER + "    def forward(self, x):\n        self.n += 1\n", False),
        (LAYER + "layer.n = 3\n", False),
        (LAYER + "    def forward(self, x):\n        self.n, y = x\n", False),
        ("def f(self):\n    return self.n\n", False),
        ("def f(:", False),
    ],
)
def test_what_only_constructors_set(text: str, expected: bool) -> None:
    assert is_set_by_constructor(text, "n") is expected
