"""What sorting a list compares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from graphdoctor.static.domain.events import Truth


@pytest.mark.parametrize(
    ("elements", "sort", "breaks"),
    [
        ("[row for row in x.unbind()]", "found.sort()", True),
        ("[(1, row) for row in x.unbind()]", "found.sort(reverse=True)", True),
        ("[(row, 1) for row in x.unbind()]", "found.sort(key=lambda pair: -pair[0])", True),
        ("[(row, 1) for row in x.unbind()]", "found.sort(key=lambda pair: pair[1])", False),
        ("[len(row.shape) for row in x.unbind()]", "found.sort()", False),
        ("[row for row in x.unbind()]", "found.reverse()", False),
    ],
)
def test_lists_of_tensors_that_are_sorted(
    events: Callable[..., list[Any]], splits: Callable[..., bool], elements: str, sort: str, breaks: bool
) -> None:
    source = f"def f(x):\n    found = {elements}\n    {sort}\n    return x * len(found)\n"
    compiled = f"import torch\n\n@torch.compile\n{source}"
    assert any(isinstance(event, Truth) and event.context == "call" for event in events(compiled)) == breaks
    assert splits(source, "f", torch.rand(4)) == breaks
