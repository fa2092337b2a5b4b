"""What ``functools.reduce`` calls is followed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graphdoctor.static.domain.events import Truth

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("items", "function", "breaks"),
    [
        ("x.unbind()", "lambda a, b: a if a.sum() > b.sum() else b", True),
        ("[x.sin(), x.cos()], x.exp()", "lambda a, b: a if a.sum() > b.max() else b", True),
        ("x.unbind()", "lambda a, b: a + b", False),
        ("x.shape", "lambda a, b: a if a > b else b", False),
    ],
)
def test_the_function_gets_what_it_gave_before(
    events: Callable[..., list[Any]], splits: Callable[..., bool], items: str, function: str, breaks: bool
) -> None:
    source = f"import functools\n\ndef f(x):\n    return x * functools.reduce({function}, {items})\n"
    compiled = source.replace("def f", "import torch\n\n@torch.compile\ndef f")
    assert any(isinstance(event, Truth) and "Tensor" in repr(event.value) for event in events(compiled)) == breaks
    assert splits(source, "f", torch.rand(4)) == breaks
