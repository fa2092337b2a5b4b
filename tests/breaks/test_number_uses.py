"""What a line does with a number: whether a tensor can take its place."""

from __future__ import annotations

import pytest

from graphdoctor.breaks.number_uses import counts_loop, is_beside_indices, loops_over_size


@pytest.mark.parametrize(
    ("code", "name", "beside"),
    [
        ("self.cache[:, pos] = h[:, 0]", "pos", True),
        ("return x[..., self.pos + 1]", "self.pos", True),
        ("for row in cache[0, i]:", "i", True),
        ("return cache[pos]", "pos", False),
        ("return cache[:, pos : pos + 1]", "pos", False),
        ("return cache[:, other] * pos", "pos", False),
        ("h[:, pos]) * 2", "pos", False),
    ],
)
def test_one_of_several_indices(code: str, name: str, beside: bool) -> None:
    assert is_beside_indices(code, name) is beside


@pytest.mark.parametrize(
    ("code", "counts"), [("for _ in range(n):", True), ("y = [x for _ in range(1, n)]", True), ("y = x * n", False)]
)
def test_the_count_of_a_loop(code: str, counts: bool) -> None:
    assert counts_loop(code, "n") is counts


@pytest.mark.parametrize(
    ("body", "loops"),
    [
        ("for t in range(x.shape[1]):\n        x = x * t", True),
        ("b, t = x.size()[:2]\n    for i in range(t):\n        x = x * i", True),
        ("for t in range(3):\n        x = x * x.shape[0]", False),
        ("return x.view(x.shape[0], -1)", False),
    ],
)
def test_a_loop_over_a_size(body: str, loops: bool) -> None:
    text = f"def other(x):\n    return [i for i in range(x.shape[0])]\n\n\ndef f(x):\n    {body}\n"
    assert loops_over_size(text, 5) is loops
