"""Which fixes work together and which are needed, by trying few subsets."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from graphdoctor.fixes.verification.subsets import failing, needed, working


class Good:
    """Good without the bad ones, and without both of a pair that clashes; counts its calls."""

    def __init__(self, bad: set[int], clash: set[int]) -> None:
        self.bad, self.clash, self.calls = bad, clash, 0

    def __call__(self, items: Sequence[int]) -> bool:
        self.calls += 1
        return not self.bad & set(items) and not (self.clash and self.clash <= set(items))


@pytest.mark.parametrize(
    ("bad", "clash", "left"),
    [
        (set(), set(), {*range(16)}),
        ({3}, set(), {*range(16)} - {3}),
        ({0, 7, 15}, set(), {*range(16)} - {0, 7, 15}),
        (set(), {2, 11}, {*range(16)} - {11}),
        ({*range(16)}, set(), set()),
    ],
)
def test_working(bad: set[int], clash: set[int], left: set[int]) -> None:
    good = Good(bad, clash)
    assert set(working(range(16), good)) == left
    assert good.calls <= 2 * 16 - 1
    if len(bad) == 1:
        assert good.calls <= 10


def test_needed_leaves_out_what_it_can_and_no_more() -> None:
    def good(items: Sequence[str]) -> bool:
        return "a" in items and ("b" in items or "c" in items)

    assert needed(["x", "a", "b", "c", "y"], good) == ["a", "c"]
    assert needed(["a", "b"], lambda items: True) == []


@pytest.mark.parametrize(("bad", "most"), [(set(), 1), ({3}, 9), ({0, 7, 15}, 27)])
def test_failing(bad: set[int], most: int) -> None:
    calls = []

    def problem(items: Sequence[int]) -> str:
        calls.append(items)
        return f"bad: {min(bad & set(items))}" if bad & set(items) else ""

    assert failing(range(16), problem) == {n: f"bad: {n}" for n in bad}
    assert len(calls) <= most
    assert failing([], problem) == {}
