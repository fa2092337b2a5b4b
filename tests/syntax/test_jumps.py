"""Tests of conditions that stand on a line below the one on which the condition begins."""

from __future__ import annotations

import pytest

from graphdoctor.syntax.jumps import tests_below as below


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("y = a \\\n    if x.any() else b\n", 1, ((2, 2),)),
        ("y = (\n    a\n    if (\n        x.any()\n    )\n    else b\n)\n", 2, ((4, 4),)),
        ("if (\n    x.any()\n    and y.any()\n):\n    pass\n", 1, ((2, 3),)),
        ("while f(\n    x\n):\n    pass\n", 1, ((1, 3),)),
        ("assert (\n    x.any()\n), 'none'\n", 1, ((2, 2),)),
        ("y = a if x.any() else b\n", 1, ()),
        ("y = a \\\n    if x.any() else b\n", 2, ()),
        ("y = a if", 1, ()),
    ],
)
def test_their_lines(text: str, line: int, found: tuple[tuple[int, int], ...]) -> None:
    assert below(text, line) == found
