"""Numbers that a tensor was made of are read from Python again."""

from __future__ import annotations

from typing import Any

import pytest

SOURCE = """\
import torch


def f(x, step=2):
    n = x.shape[0]
    {made}
    return x[{read}]


def graphdoctor_target():
    return f, (torch.rand(7),)
"""


@pytest.mark.parametrize(
    ("made", "read", "written"),
    [
        ("places = torch.arange(n - 1)", "places.tolist()", "list(range(n - 1))"),
        ("places = torch.arange(1, n, step)", "places.tolist()", "list(range(1, n, step))"),
        ("places = torch.tensor(range(step, n))", "places.tolist()", "list(range(step, n))"),
        ("", "torch.arange(n).tolist()", "list(range(n))"),
        (
            "places = torch.arange(n)",
            "list(set(places.tolist()).difference([1]))",
            "list(set(range(n)).difference([1]))",
        ),
        ("places = torch.arange(n)", "[p // 2 for p in places.tolist()]", "[p // 2 for p in range(n)]"),
    ],
)
def test_an_arange_is_a_range(fixed: Any, runner: Any, made: str, read: str, written: str) -> None:
    import torch

    source = SOURCE.format(made=made, read=read)
    text = fixed(source, unsafe=True).text
    assert f"return x[{written}]" in text
    x = torch.rand(7)
    assert runner.compiled(source, x).breaks > 0
    result = runner.compiled(text, x, fullgraph=True)
    assert (result.breaks, result.graphs) == (0, 1)
    assert torch.equal(result.value, runner.eager(source, x)) and torch.equal(runner.eager(text, x), result.value)


@pytest.mark.parametrize(
    "made",
    [
        "places = torch.arange(n)\n    n = 3",
        "places = torch.arange(0.5, 3.5).long()",
        "places = torch.arange(n, out=torch.empty(n, dtype=torch.long))",
        "places = torch.arange(n)\n    places[0] = 2",
        "places = torch.arange(n)\n    places.add_(1).clamp_(max=4)",
        "places = torch.arange(int(x.sum()))",
        "for n in (2, 3):\n        if n == 2:\n            places = torch.arange(n)",
    ],
)
def test_an_arange_whose_numbers_may_be_others_stays(fixed: Any, made: str) -> None:
    source = SOURCE.format(made=made, read="places.tolist()")
    assert "places.tolist()" in fixed(source, unsafe=True).text


def test_a_negative_count_is_announced(fixed: Any) -> None:
    source = SOURCE.format(made="", read="torch.arange(n - 9).tolist()")
    reasons = [f.fix.reason for f in fixed(source, unsafe=True).findings if f.fix is not None]
    assert any("A range of a negative count is empty, where `torch.arange` raises." in reason for reason in reasons)
