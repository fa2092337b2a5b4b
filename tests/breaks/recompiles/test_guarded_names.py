"""What the source says of guarded names."""

import pytest

from graphdoctor.breaks.recompiles.guarded_names import is_from_outside, is_set_by_constructor

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


STEP = """\
def main():
    seen = []

    def step(x, given):
        own = []
        seen.append(x)
        own.append(given)

    @compiled
    def alone(seen):
        seen.append(1)
"""


@pytest.mark.parametrize(
    ("line", "name", "expected"),
    [
        (4, "seen", True),
        (6, "seen", True),
        (4, "given", False),
        (4, "own", False),
        (4, "other", False),
        (1, "seen", False),
        (9, "seen", False),
        (90, "seen", False),
    ],
)
def test_what_a_function_reads_from_outside(line: int, name: str, expected: bool) -> None:
    assert is_from_outside(STEP, line, name) is expected
    assert not is_from_outside("def f(:", line, name)
