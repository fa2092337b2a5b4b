"""What sorting a list compares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graphdoctor.static.domain.events import Truth

torch = pytest.importorskip("torch")


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


@pytest.mark.parametrize(
    ("chosen", "breaks"),
    [
        ("max(range(2), key=lambda i: rows[i].sum())", True),
        ("max(named, key=named.get)", True),
        ("min(rows, key=lambda row: row.sum())", True),
        ("max(range(2), key=lambda i: -i)", False),
        ("max(named, key=len)", True),
        ("max({'a': 1, 'bc': 2}, key=len)", False),
    ],
)
def test_what_a_key_makes_of_numbers_and_names_is_compared(
    events: Callable[..., list[Any]], splits: Callable[..., bool], chosen: str, breaks: bool
) -> None:
    body = f"    rows = [x, x + 1]\n    named = {{'a': x.sum(), 'bc': x.mean()}}\n    {chosen}\n    return x * 2\n"
    source = f"def f(x):\n{body}"
    compiled = f"import torch\n\n@torch.compile\n{source}"
    assert any(isinstance(event, Truth) and event.context == "call" for event in events(compiled)) == breaks
    assert splits(source, "f", torch.rand(4)) == breaks
