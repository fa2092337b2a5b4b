"""Tensors of which data says how many rows they have, and what becomes of masks and lists of tensors on the way."""

from __future__ import annotations

import pytest

from graphdoctor.static.domain.events import Convert, Iterate, Subscript
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Seq, Tensor


def run(events, body: str):
    source = "import torch\ndef f(x, other=None):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    return events(source + "def graphdoctor_target():\n    return f, (torch.rand(4, 4),)\n")


def loops(events, rows: str) -> list[str]:
    found = run(events, f"for row in {rows}:\n    pass\nreturn x")
    return [type(e).__name__ for e in found if isinstance(e, Iterate)]


@pytest.mark.parametrize(
    "rows",
    [
        "x.nonzero()",
        "torch.argwhere(x > 1)[:, 0]",
        "x.long().flatten().bincount().cpu().numpy().cumsum(0)",
        "x[x > 1]",
        "torch.where(x > 1)[0]",
        "x.unique().to(torch.int64)",
        "enumerate(x.nonzero().squeeze(-1))",
    ],
)
def test_loops_over_as_many_rows_as_the_data_says_are_seen(events, rows):
    assert set(loops(events, rows)) == {"Iterate"}


@pytest.mark.parametrize("rows", ["x", "x.nonzero()[0]", "x[:2]", "x[x.argsort(0)[0]]", "range(len(x.nonzero()))"])
def test_loops_over_a_known_number_of_rows_are_not(events, rows):
    assert loops(events, rows) == []


def test_a_mask_that_is_moved_to_the_device_of_something_unknown_stays_a_mask(events):
    found = run(events, "mask = (x > 1).to(other.missing().device)\nreturn x[mask]")
    index = [option for e in found if isinstance(e, Subscript) for option in options(e.index[0])]
    assert [i.dtype for i in index if isinstance(i, Tensor)] == ["bool"]


def test_a_mask_combined_with_something_unknown_is_a_mask(events):
    found = run(events, "mask = (x > 1) | other.missing()\nreturn x[mask]")
    index = [option for e in found if isinstance(e, Subscript) for option in options(e.index[0])]
    assert [i.dtype for i in index if isinstance(i, Tensor)] == ["bool"]


def test_columns_of_unpacked_rows_are_lists_of_tensors(events):
    found = run(events, "rows, columns = zip(*x.long())\nx[rows, columns] = 0\nreturn x")
    parts = [part for e in found if isinstance(e, Subscript) for part in e.index]
    assert [isinstance(p, Seq) and isinstance(p.element, Tensor) for p in parts] == [True, True]


@pytest.mark.parametrize(
    ("held", "index", "read"),
    [
        pytest.param("(x, (2, 2)) + other()", "held[1]", False, id="tensor-and-sizes-and-something-unknown"),
        pytest.param("((2, 2), x.argmax()) + (other(),)", "held[0]", False, id="sizes-and-tensor-and-one-unknown"),
        pytest.param("(x.argmax(), x.argmin()) + other()", "held[:2]", True, id="tensors-and-something-unknown"),
    ],
)
def test_what_is_where_in_a_tuple_after_something_unknown_is_added(events, held, index, read):
    found = run(events, f"held = {held}\nheight, width = {index}\nreturn x.view(height, width)")
    assert any(isinstance(e, Convert) for e in found) is read


PLACED = """
        from dataclasses import dataclass
        import torch
        from torch import nn

        @dataclass
        class Config:
            token: int | None = None

        class Net(nn.Module):
            def __init__(self, config: Config):
                super().__init__()
                self.config = config

            def forward(self, ids: torch.LongTensor):
                return ids[(ids {test}).unsqueeze(-1)]
"""


@pytest.mark.parametrize(
    ("test", "mask"),
    [
        pytest.param("== self.config.token", True, id="a-field-that-its-user-sets"),
        pytest.param("!= None", False, id="none-itself"),
    ],
)
def test_a_tensor_compared_with_a_field_that_is_none_by_default_is_a_mask(events, test, mask):
    (selected,) = (e for e in events(PLACED.format(test=test)) if type(e) is Subscript)
    assert (isinstance(selected.index[0], Tensor) and selected.index[0].dtype == "bool") is mask


@pytest.mark.parametrize(
    ("value", "repeats"),
    [
        pytest.param("[0] * (x > 1).sum()", 1, id="a list"),
        pytest.param("(x > 1).sum() * (0, 1)", 1, id="a tuple, from the left"),
        pytest.param("(other or [x]) * (x > 1).sum()", 0, id="what may be a tensor"),
        pytest.param("[0] * (x > 1).sum().numpy()", 0, id="an array, which multiplies each element"),
    ],
)
def test_a_list_that_is_repeated_as_often_as_a_tensor_says_is_seen(events, value, repeats):
    found = run(events, f"return {value}")
    assert len([e for e in found if isinstance(e, Convert) and e.to == "repeat"]) == repeats


def test_what_has_rows_and_columns_is_no_list(events):
    found = run(
        events, "held = [x, x] if torch.get_num_threads() > 1 else x\npart = held[:, :2]\nreturn part[x.argmax()]"
    )
    assert [e.how for e in found if isinstance(e, Convert)] == []
