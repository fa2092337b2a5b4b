"""Numbers that compiled code reads from tensors, and what asks for them later."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Convert, Decide
from tests.static.conftest import places


def decided(events, body: str, before: str = "") -> list[str]:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    source = f"import torch\n{before}def f(x):\n{lines}"
    found = events(source + "def graphdoctor_target():\n    return f, (torch.rand(4, 4),)\n")
    return [e.how for e in found if isinstance(e, Decide)]


@pytest.mark.parametrize(
    ("body", "how"),
    [
        ("n = x.max().item() * 2 + 1\nif n > 3:\n    x = x + 1", "if"),
        ("n = -int(x.max())\nx = x + 1 if n else x", "if"),
        ("for a, b in x.tolist():\n    while max(a, b) > 1:\n        b = b - 1", "if"),
        ("rows = x.long().tolist()\nfor i in range(rows[0][1]):\n    x = x + i", "range"),
        ("x = x + len(frozenset(n + 2 for n in x.sum(1).tolist()))", "set"),
        ("n = x.argmax().item()\nx = x + sum([1] * n)", "repeat"),
        ("x = x + 1 if (x > 0).nonzero().size(0) > 1 else x", "if"),
        ("for _ in range(torch.where(x > 0)[0].shape[0]):\n    x = x + 1", "range"),
        ("x = x + 1 if len(x[x > 0].sqrt()) else x", "if"),
        ("x = x + 1 if x.nonzero().numel() > 4 else x", "if"),
        ("x = x + 1 if x[x > 0].shape[0] > 4 else x", "if"),
    ],
)
def test_what_asks_for_a_number_read_from_data_is_seen(events, body, how):
    assert set(decided(events, body + "\nreturn x")) == {how}


@pytest.mark.parametrize(
    "body",
    [
        "n = x.max().item()\nassert n < 3",
        "n = x.max().item()\nx = x.new_zeros(4) if n is None else x * n",
        "some = (x > 1).any().item()\nx = x + 1 if some else x",
        "n = x.numpy().max().item()\nx = x + 1 if n > 1 else x",
        "n = torch.tensor(3).item()\nx = x + 1 if n > 1 else x",
        "n = x.shape[0] if other() else 2\nx = x + 1 if n > 2 else x",
        "x = x + 1 if x.nonzero().size(1) > 1 else x",
        "x = x + 1 if len(x[x > 0].view(4, -1)) > 1 else x",
        "assert len(x.nonzero()) > 1",
    ],
)
def test_other_numbers_are_not(events, body):
    assert decided(events, body + "\nreturn x") == []


def test_numbers_read_outside_compiled_code_are_not(events):
    body = "if RATES[0] > 0.1:\n    x = x + 1\nreturn x"
    assert decided(events, body, "RATES = torch.linspace(0, 1, 4).tolist()\n") == []


def test_sizes_of_what_was_selected_outside_compiled_code_are_not(events):
    body = "if len(CHOSEN) > 1:\n    x = x + 1\nreturn x"
    assert decided(events, body, "CHOSEN = torch.arange(4).nonzero()\n") == []


def test_a_number_that_may_also_be_a_plain_one_is_not(events):
    assert decided(events, "n = x.max().item() if other() else 3\nif n > 1:\n    x = x + 1\nreturn x") == []


BOUND = """
        import numpy as np
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self, bound: float):
                super().__init__()
                self.bound = bound

            def forward(self, x: torch.Tensor):
                limit = np.log({number})
                return x.new_empty(8).uniform_(-limit, limit) + x
"""


@pytest.mark.parametrize(
    ("number", "array"),
    [
        pytest.param("self.bound", False, id="number-of-the-module"),
        pytest.param("x.max().item()", True, id="number-read-from-data"),
        pytest.param("x", True, id="tensor"),
    ],
)
def test_numpy_of_a_number_that_a_trace_knows_is_a_number(events, number, array):
    found = events(BOUND.format(number=number))
    assert any(isinstance(e, Convert) and e.how == "uniform_" for e in found) is array


@pytest.mark.parametrize(("passed", "found"), [('batch["lengths"].max()', [5]), ('batch["length"]', [])])
def test_what_max_gave_is_a_tensor_whatever_the_callee_asks_for(events, passed: str, found: list[int]) -> None:
    source = f"""
        import torch

        def rows(size: int, lengths):
            return torch.arange(size) < lengths[:, None]

        class Net(torch.nn.Module):
            def forward(self, batch: dict[str, torch.Tensor]):
                return rows({passed}, batch["lengths"])
        """
    assert places(events(source), Convert) == found
