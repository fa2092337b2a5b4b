"""Durations as words: the verdict and the table format a number in the same way."""

from __future__ import annotations


def seconds(value: float) -> str:
    """A duration with a unit that fits it."""
    if value >= 1:
        return f"{value:.2f} s"
    return f"{value * 1e3:.3g} ms" if value >= 1e-3 else f"{value * 1e6:.3g} µs"


def times(factor: float) -> str:
    """How many times as fast."""
    return f"{factor:.2f}"


def steps(count: int) -> str:
    """A number of steps."""
    return f"{count:,} step{'s' if count != 1 else ''}"
