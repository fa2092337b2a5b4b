"""Branches that ask whether a mask selects anything, and then write by it: run before and after."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.branches.choose import Rewrite
from graphdoctor.fixes.branches.masked_writes import fill_without_test, write_by_mask
from graphdoctor.fixes.branches.shortcuts import drop_guard
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.tensors.masks import write_without_test
from graphdoctor.static.rule import Refusal

MARKS = {"any": "any(", "all": "all(", "sum": "sum("}
HEAD = "import torch\n\n\ndef f(x: torch.Tensor, y: torch.Tensor):\n"

REWRITTEN = {
    "nothing to write": "m = x > 0.5\nif m.any():\n    y[m] = 0.0\nreturn y",
    "a mask in parentheses": "if (x <= 0.5).any():\n    y[x <= 0.5] = 1.0\nreturn y",
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


#: Other tensors with the elements of the mask.
FILLED = {
    "the mask": "m = x > 0.5\nif m.any():\n    # padding\n    y = y.masked_fill(m, -1e9)\nreturn y",
    "a row of it": (
        "m = x > 0.5\nz = torch.stack([y, y])\nif m.any():\n    z = z.masked_fill(m[None, :], float('-inf'))\n"
        "    z = z.masked_fill(m.unsqueeze(0).expand(2, -1), torch.finfo(z.dtype).min)\nreturn z"
    ),
    "its opposite": "keep = x <= 0.5\nif not keep.all():\n    y = y.masked_fill(~keep, 0)\nreturn y",
    "the mask in place": "if torch.isnan(x).any():\n    x = x.masked_fill(torch.isnan(x), 0.0)\nreturn x",
}


@pytest.mark.parametrize("body", FILLED.values(), ids=FILLED)
def test_a_number_is_filled_in_without_asking(make: Any, runner: Any, body: str) -> None:
    import torch

    source = source_of(body)
    after = make(source, cst.Call, next(mark for mark in MARKS.values() if mark in source)).after(fill_without_test)
    assert "if" not in after and "where" not in after and ("padding" in after) == ("padding" in source)
    for values in ([0.1, 0.7, float("nan")], [0.1, 0.2, 0.3], [0.7, 0.8, 0.9]):
        x = torch.tensor(values)
        expected = runner.eager(source, x.clone(), torch.ones(3))
        torch.testing.assert_close(runner.eager(after, x.clone(), torch.ones(3)), expected, equal_nan=True)
    assert not runner.compiled(after, x.clone(), torch.ones(3), fullgraph=True).breaks


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "m = x > 0.5\nif m.any():\n    y = x.masked_fill(m, 0)\nreturn y",
            "The branch does more than fill in a number where its mask is true.",
        ),
        (
            "m = x > 0.5\nif m.any():\n    y = y.masked_fill(x > 0, 0)\nreturn y",
            "The branch does more than fill in a number where its mask is true.",
        ),
        (
            "m = x > 0.5\nif m.any():\n    y = y.masked_fill(m, x[0])\nreturn y",
            "The branch does more than fill in a number where its mask is true.",
        ),
        (
            "if (x > 0).any():\n    x = x.masked_fill(x > 0, -1)\n    y = y.masked_fill(x > 0, 0)\nreturn x, y",
            "The branch changes what its mask is made of.",
        ),
        (
            "if x.any():\n    y = y.masked_fill(x, 0)\nreturn y",
            "The branch does more than fill in a number where its mask is true.",
        ),
    ],
)
def test_what_else_a_branch_does_is_not_filled_in(make: Any, body: str, reason: str) -> None:
    plan = make(source_of(body), cst.Call, "any(").run(fill_without_test)
    assert isinstance(plan, Refusal) and reason in plan.reason


GUARDED = {
    "not any": "dead = x < 0.5\n{}pool = y.flip(0)\nself.e.data[dead] = pool[dead]",
    "no sum": "dead = x < 0.5\n{}self.e[dead] = 1.0\nreturn",
    "an opposite": "keep = x >= 0.5\n{}self.e[~keep] += y[~keep]",
}
TESTS = {
    "not any": "if not torch.any(dead):\n    return\n",
    "no sum": "if dead.sum() == 0:\n    return\n",
    "an opposite": "if not (~keep).any():\n    return\n",
}
STORING = """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("e", torch.zeros(3))

    def store(self, x, y):
{}

    def forward(self, x, y):
        self.store(x, y)
        return self.e * 2


f = Net()
"""


def storing(body: str) -> str:
    return STORING.format("".join(f"        {line}\n" for line in body.rstrip().split("\n")))


@pytest.mark.parametrize("name", GUARDED)
def test_a_return_before_such_writes_goes(name: str, fixed: Any, runner: Any) -> None:
    import torch

    source = storing(GUARDED[name].format(TESTS[name]))
    after = fixed(source, unsafe=True).text
    assert "if " not in after
    for values in ([0.1, 0.7, 0.2], [0.6, 0.7, 0.8], [0.1, 0.2, 0.3]):
        x = torch.tensor(values)
        expected = runner.eager(source, x, torch.arange(3.0))
        torch.testing.assert_close(runner.eager(after, x, torch.arange(3.0)), expected)
        assert not runner.compiled(after, x, torch.arange(3.0)).breaks


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        ("self.e[dead] = 1.0\nself.e.mul_(2)", "the lines after the return do more than write where the mask is true"),
        ("self.n = 3\nself.e[dead] = 1.0", "the lines after the return do more than write where the mask is true"),
        ("dead = y > 0\nself.e[dead] = 1.0", "the lines after the return do more than write where the mask is true"),
        ("self.e[x < 1] = 1.0", "the lines after the return do more than write where the mask is true"),
        ("self.e[dead] = y[dead].max()", "`y[dead].max()` may raise for an empty selection"),
        ("global n\nn = 3\nself.e[dead] = 1.0", "the function writes names that other code reads"),
        (
            "p = y[torch.randperm(3)]\nself.e[dead] = p[dead]",
            "`torch.randperm(3)` may have side effects, and would run in each call",
        ),
    ],
)
def test_a_return_before_anything_else_stays(make: Any, rest: str, reason: str) -> None:
    case = make(storing(f"dead = x < 0.5\nif not dead.any():\n    return\n{rest}"), cst.Call, "any(")
    with pytest.raises(Refuse) as refused:
        case.run(drop_guard)
    assert reason in str(refused.value)


@pytest.mark.parametrize("test", ["not dead.any() and y is not None", "dead.any()", "not x.any()", "dead.sum() > 3"])
def test_another_question_is_no_guard(make: Any, test: str) -> None:
    case = make(
        storing(f"dead = x < 0.5\nif {test}:\n    return\nself.e[dead] = 1.0"), cst.Call, test.split("(")[0].split()[-1]
    )
    assert case.refusal(drop_guard) == "This is no return where a mask selects nothing."


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
