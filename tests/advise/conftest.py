"""Tests of advice, which compile in the process of the tests."""

from __future__ import annotations

import pytest

from graphdoctor.dynamic.tracing.private_torch import skip_guard_timing


@pytest.fixture(scope="session", autouse=True)
def untimed_guards() -> None:
    """Compiles take the time that they take in a worker."""
    skip_guard_timing()
