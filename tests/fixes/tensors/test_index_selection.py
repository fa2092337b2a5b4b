"""Places in a matrix that the indices of a mask name, one in each row: written without the indices."""

from __future__ import annotations

from typing import Any

import pytest

SOURCE = """\
import torch


def f(labels, n: int = 4):
    one_hot = labels.new_full((labels.size(0), n), 0)
    {}
    return one_hot


def graphdoctor_target():
    return f, (torch.tensor([0, 3, 4, -1, 2]),)
"""
MADE = "idx = torch.nonzero((labels >= 0) & (labels < n), as_tuple=False).squeeze({})\n    "
FORMS = {
    "squeezed and asked": MADE.format("") + "if idx.numel() > 0:\n        one_hot[idx, labels[idx]] = 1",
    "of one dimension": MADE.format("1") + "if len(idx) > 0:\n        one_hot[idx, labels[idx]] = 2",
    "not asked": MADE.format("1") + "one_hot[idx, labels[idx]] = 1",
    "the other way round": MADE.format("1") + "one_hot = one_hot.t()\n    one_hot[labels[idx], idx] = 1",
}


@pytest.mark.parametrize("form", FORMS)
def test_one_place_in_each_row_is_written_by_the_mask(fixed: Any, runner: Any, form: str) -> None:
    import torch

    source = SOURCE.format(FORMS[form])
    after = fixed(source, unsafe=True).text
    assert "nonzero" not in after and "if" not in after and "torch._dynamo" not in after
    for values in ([0, 3, 4, -1, 2], [4, 5], [1, 9], [1], [7], []):
        labels = torch.tensor(values, dtype=torch.long)
        expected = runner.eager(source, labels)
        assert torch.equal(runner.eager(after, labels), expected) and runner.eager(after, labels).dtype == torch.long
        assert torch.equal(runner.compiled(after, labels, fullgraph=True).value, expected)


REFUSED = {
    "a number of another dtype": MADE.format("1") + "one_hot[idx, labels[idx]] = 1.5",
    "a tensor": MADE.format("1") + "one_hot[idx, labels[idx]] = labels[idx]",
    "the place beside it": MADE.format("1") + "one_hot[idx, labels[idx] - 1] = 1",
    "places of other rows": MADE.format("1") + "one_hot[idx, labels[idx + 1]] = 1",
    "a row of what may be one index": MADE.format("") + "one_hot = one_hot + labels[idx].sum(0)",
    "the length of what may be one index": MADE.format("") + "one_hot = one_hot + len(idx)",
}


@pytest.mark.parametrize("form", REFUSED)
def test_other_writes_stay(fixed: Any, form: str) -> None:
    source = SOURCE.format(REFUSED[form])
    assert "torch.nonzero(" in fixed(source, unsafe=True).text
