"""Tests of the worker's parts, which compile in the process of the tests."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def untimed_guards() -> None:
    """Compiles take the time that they take in a worker."""
    if importlib.util.find_spec("torch"):
        from graphdoctor.dynamic.tracing.private_torch import skip_guard_timing

        skip_guard_timing()


@pytest.fixture
def fresh_dynamo() -> Iterator[None]:
    """Nothing that was compiled before or is compiled here is seen by another test."""
    import torch

    torch._dynamo.reset()
    yield
    torch._dynamo.reset()
