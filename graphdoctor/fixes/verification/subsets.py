"""Which of several fixes work together, and which of them are needed: by trying subsets, far fewer than all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def working(items: Sequence[T], good: Callable[[Sequence[T]], bool], kept: Sequence[T] = ()) -> list[T]:
    """Those of ``items`` that are good together on top of ``kept``, earlier ones preferred.

    Halves are tried before single ones: for k bad ones among n about ``2 k log2(n)`` calls of ``good``.
    """
    if not items or good([*kept, *items]):
        return list(items)
    if len(items) == 1:
        return []
    half = len(items) // 2
    first = working(items[:half], good, kept)
    return [*first, *working(items[half:], good, [*kept, *first])]


def failing(items: Sequence[T], problem: Callable[[Sequence[T]], str]) -> dict[T, str]:
    """Those of ``items`` that have a ``problem`` alone, with it; none are looked at one by one that have none together.

    For k of n about ``2 k log2(n)`` calls of ``problem``, one where there is none.
    """
    found = problem(items) if items else ""
    if not found or len(items) == 1:
        return dict.fromkeys(items, found) if found else {}
    half = len(items) // 2
    return failing(items[:half], problem) | failing(items[half:], problem)


def needed(items: Sequence[T], good: Callable[[Sequence[T]], bool]) -> list[T]:
    """A subset of ``items`` (which are good) that is good and of which none can be left out: ``len(items)`` calls."""
    left = list(items)
    for item in items:
        without = [other for other in left if other is not item]
        if good(without):
            left = without
    return left
