"""Branches that ask whether a mask selects anything, and then write by it: run before and after."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.branches.choose import Rewrite
from graphdoctor.fixes.branches.masked_writes import write_by_mask
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.tensors.masks import write_without_test
from graphdoctor.static.rule import Refusal

MARKS = {"any": "any(", "all": "all(", "sum": "sum("}
HEAD = "import torch\n\n\ndef f(x: torch.Tensor, y: torch.Tensor):\n"

REWRITTEN = {
    "nothing to write": "m = x > 0.5\nif m.any():\n    y[m] = 0.0\nreturn y",
    "the mask in place": "if torch.isnan(x).any():\n    x[torch.isnan(x)] = -1\nreturn x",
    "its opposite": "keep = x <= 0.5\nif not keep.all():\n    y[~keep] = 0.0\nreturn y",
    "a count": "m = x > 0.5\nif m.sum() > 0:\n    y.masked_fill_(m, float('-inf'))\nreturn y",
    "a copy": "m = x > 0.5\nz = y\nif m.any():\n    z = z.clone()\n    z[m] = 0.0\nreturn z, y",
    "a copy of what the mask is made of": "if torch.isnan(x).any():\n    x = x.clone()\n    x[torch.isnan(x)] = -1\nreturn x",
    "a function of torch": "m = x > 0.5\nif bool(torch.any(m)):\n    y[..., m] = 2\n    x[m] = torch.finfo(x.dtype).max\nreturn y, x",
}

#: What is written is selected by the mask, too.
SELECTED = {
    "the same elements of another": "m = x > 0.5\nif m.any():\n    y[m] = x[m] * 2\nreturn y",
    "the selected mask in place": "if torch.isnan(x).any():\n    x[torch.isnan(x)] = y[torch.isnan(x)]\nreturn x",
    "what its opposite selects": "keep = x <= 0.5\nif not keep.all():\n    y[~keep] += x[~keep]\nreturn y",
    "the last dimensions": (
        "m = x > 0.5\nz = torch.stack([y, y])\nif torch.any(m):\n    z[..., m] = z[..., m].exp()\n    z[..., m] -= z[..., m] + 1\n"
        "return z"
    ),
}


def source_of(body: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in body.split("\n"))


@pytest.mark.parametrize(
    ("rewrite", "body"),
    [(write_by_mask, body) for body in REWRITTEN.values()] + [(write_without_test, body) for body in SELECTED.values()],
    ids=[*REWRITTEN, *SELECTED],
)
def test_the_same_is_written_without_asking(make: Any, runner: Any, rewrite: Rewrite, body: str) -> None:
    import torch

    source = source_of(body)
    mark = next(mark for mark in MARKS.values() if mark in source)
    after = make(source, cst.Call, mark).after(rewrite)
    assert "if" not in after
    for values in ([0.1, 0.7, float("nan")], [0.1, 0.2, 0.3], [0.7, 0.8, 0.9]):
        x = torch.tensor(values)
        expected = runner.eager(source, x.clone(), torch.ones(3))
        torch.testing.assert_close(runner.eager(after, x.clone(), torch.ones(3)), expected, equal_nan=True)
    result = runner.compiled(after, x.clone(), torch.ones(3), fullgraph=True)
    torch.testing.assert_close(result.value, expected, rtol=0, atol=0)


@pytest.mark.parametrize(
    "body",
    [
        "m = x > 0.5\nif m.any():\n    y[m] = x[m]\n    y = y + 1\nreturn y",
        "m = x > 0.5\nif m.any():\n    y[x > 0] = x[x > 0]\nreturn y",
        "if (x > 0).any():\n    x[x > 0] = y[x > 0]\n    x[x > 0] = y[x > 0]\nreturn x",
    ],
)
def test_a_branch_that_does_more_stays(make: Any, body: str) -> None:
    more = "the branch does more than write what its mask selects where the mask is true"
    with pytest.raises(Refuse, match=more):
        make(source_of(body), cst.Call, "any(").run(write_without_test)


#: A multimodal model puts features where its placeholders are.
FEATURES = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(9, 2)
        self.project = torch.nn.Linear(3, 2)

    def forward(self, ids, images):
        embeds = self.embed(ids)
        mask = ids == 7
        if mask.any():
            embeds = embeds.clone()
            # One row for each placeholder.
            rows = self.project(images)
            embeds[mask] = rows.view(-1, 2)
        return embeds


compiled = torch.compile(Net())
"""


def test_rows_are_written_without_asking(fixed: Any, runner: Any) -> None:
    """Where nothing is selected, the rows are computed, and none is written."""
    import torch

    after = fixed(FEATURES, unsafe=True).text
    assert "if mask" not in after and "# One row for each placeholder." in after
    assert "embeds.masked_scatter_(mask[(...,) + (None,) * (embeds.ndim - mask.ndim)], rows.view(-1, 2))" in after
    images = torch.rand(2, 3)
    for ids in ([[7, 1, 7]], [[1, 2, 3]]):
        found = []
        for text in (FEATURES, after):
            torch.manual_seed(0)
            net = runner.load(text).Net()
            result = net(torch.tensor(ids), images)
            found.append((result, torch.autograd.grad(result.square().sum(), net.embed.weight)[0]))
        torch.testing.assert_close(found[1], found[0], rtol=0, atol=0)
        compiled = torch.compile(net, backend="eager", fullgraph=True)
        torch.testing.assert_close(compiled(torch.tensor(ids), images), found[0][0], rtol=0, atol=0)


MORE = "the branch does more than write a number where its mask is true"
#: What the branch does, and why it stays.
REFUSED = {
    "positions": ("m = x.long()\nif m.any():\n    y[m] = 0.0\nreturn y", MORE),
    "another mask": ("m = x > 0.5\nif m.any():\n    y[y > 0] = 0.0\nreturn y", MORE),
    "something else": ("m = x > 0.5\nif m.any():\n    y[m] = 0.0\n    y = y + 1\nreturn y", MORE),
    "values of a tensor": (
        "m = x > 0.5\nif m.any():\n    y[m] = x[m]\nreturn y", "what is written is not shown to be a number"
    ),
    "rows by another mask": (
        "m = x > 0.5\nif m.any():\n    y[y > 0] = x.abs()\nreturn y",
        "the branch does more than write rows where its mask is true",
    ),
    "rows beside something else": (
        "m = x > 0.5\nif m.any():\n    print(m)\n    y[m] = x.abs()\nreturn y",
        "the branch does more than write rows where its mask is true",
    ),
    "rows that others read": (
        "m = x > 0.5\nz = x\nif m.any():\n    z = x.abs()\n    y[m] = z\nreturn y + z",
        "`z` is used outside the branch too",
    ),
    "rows for another object": (
        "m = x > 0.5\nif m.any():\n    y.T[m] = x.abs()\nreturn y", "what is written to is no plain name"
    ),
    "a matrix for each place": (
        "z = torch.ones(3)\nm = z > 0.5\nif m.any():\n    z[m] = torch.ones(2, 3)\nreturn z",
        "what is written is no row for each selected place",
    ),
    "a copy of another object": (
        "m = x > 0.5\nif m.any():\n    x = x.clone()\n    y[m] = 0.0\nreturn x + y",
        "the branch copies more than what it writes to",
    ),
    "a copy after the first write": (
        "m = x > 0.5\nif m.any():\n    y[m] = 0.0\n    y = y.clone()\n    y[m] = 1.0\nreturn y",
        "the branch copies more than what it writes to",
    ),
    "a copy of another": ("m = x > 0.5\nif m.any():\n    y = x.clone()\n    y[m] = 0.0\nreturn y", MORE),
    "a part of another object": (
        "m = x > 0.5\nif m.any():\n    y.data[m] = 0.0\nreturn y", "what is written to is no plain name"
    ),
    "what the mask is made of": (
        "m = x > 0.5\nif m.any():\n    m[m] = False\n    y[m] = 0.0\nreturn y",
        "the branch changes what its mask is made of",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_writes_more_where_nothing_is_selected_stays(make: Any, name: str) -> None:
    body, reason = REFUSED[name]
    with pytest.raises(Refuse, match=reason):
        make(source_of(body), cst.Call, "any(").run(write_by_mask)


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
    assert isinstance(refusal, Refusal) and refusal.reason == "No branch tests whether a mask selects anything."


def test_one_of_several_branches_stays(make: Any) -> None:
    body = "m = x > 0.5\nif y.sum() > 9:\n    y = y + 1\nelif m.any():\n    y[m] = 0.0\nreturn y"
    refusal = make(source_of(body), cst.Call, "m.any(").run(write_by_mask)
    assert isinstance(refusal, Refusal) and refusal.reason == "The branch is one of several."
    assert make(source_of(body), cst.Call, "m.any(").run(write_without_test) == refusal
