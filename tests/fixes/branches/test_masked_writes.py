"""Branches that ask whether a mask selects anything, and then write by it: run before and after."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.branches.masked_writes import write_by_mask
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.rule import Refusal

MARKS = {"any": "any(", "all": "all(", "sum": "sum("}
HEAD = "import torch\n\n\ndef f(x: torch.Tensor, y: torch.Tensor):\n"

REWRITTEN = {
    "nothing to write": "m = x > 0.5\nif m.any():\n    y[m] = 0.0\nreturn y",
    "the mask in place": "if torch.isnan(x).any():\n    x[torch.isnan(x)] = -1\nreturn x",
    "its opposite": "keep = x <= 0.5\nif not keep.all():\n    y[~keep] = 0.0\nreturn y",
    "a count": "m = x > 0.5\nif m.sum() > 0:\n    y.masked_fill_(m, float('-inf'))\nreturn y",
    "a function of torch": "m = x > 0.5\nif bool(torch.any(m)):\n    y[..., m] = 2\n    x[m] = torch.finfo(x.dtype).max\nreturn y, x",
}


def source_of(body: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in body.split("\n"))


@pytest.mark.parametrize("name", REWRITTEN)
def test_the_same_is_written_without_asking(make: Any, runner: Any, name: str) -> None:
    import torch

    source = source_of(REWRITTEN[name])
    mark = next(mark for mark in MARKS.values() if mark in source)
    after = make(source, cst.Call, mark).after(write_by_mask)
    assert "if" not in after
    for values in ([0.1, 0.7, float("nan")], [0.1, 0.2, 0.3], [0.7, 0.8, 0.9]):
        x = torch.tensor(values)
        expected = runner.eager(source, x.clone(), torch.ones(3))
        torch.testing.assert_close(runner.eager(after, x.clone(), torch.ones(3)), expected, equal_nan=True)
    result = runner.compiled(after, x.clone(), torch.ones(3), fullgraph=True)
    torch.testing.assert_close(result.value, expected, rtol=0, atol=0)


REFUSED = {
    "positions": "m = x.long()\nif m.any():\n    y[m] = 0.0\nreturn y",
    "another mask": "m = x > 0.5\nif m.any():\n    y[y > 0] = 0.0\nreturn y",
    "values of a tensor": "m = x > 0.5\nif m.any():\n    y[m] = x[m]\nreturn y",
    "something else": "m = x > 0.5\nif m.any():\n    y[m] = 0.0\n    y = y + 1\nreturn y",
    "what the mask is made of": "if (x > 0.5).any():\n    x[x > 0.5] = 0.0\n    y[x > 0.5] = 0.0\nreturn y",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_writes_more_where_nothing_is_selected_stays(make: Any, name: str) -> None:
    with pytest.raises(Refuse):
        make(source_of(REFUSED[name]), cst.Call, "any(").run(write_by_mask)


@pytest.mark.parametrize(
    "body",
    [
        "m = x > 0.5\nif m.any():\n    y[m] = 0.0\nelse:\n    y = y + 1\nreturn y",
        "m = x > 0.5\nif m.all():\n    y[m] = 0.0\nreturn y",
        "m = x > 0.5\nif m.sum() > 1:\n    y[m] = 0.0\nreturn y",
        "m = x > 0.5\nif m.any() and y.sum() > 0:\n    y[m] = 0.0\nreturn y",
    ],
)
def test_other_questions_stay(make: Any, body: str) -> None:
    refusal = make(source_of(body), cst.Call, MARKS[body.split("if m.")[1][:3]]).run(write_by_mask)
    assert isinstance(refusal, Refusal) and refusal.reason == "No branch asks whether a mask selects anything."
