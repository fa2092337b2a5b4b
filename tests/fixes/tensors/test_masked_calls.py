"""Branches that compute with what a mask selects, in several lines, and write it back: run before and after."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.tensors.masked_calls import call_with_all_rows

HEAD = "import torch\n\n\ndef g(x, y):\n    return x * 2 + y, y\n\n\ndef f(x: torch.Tensor, y: torch.Tensor):\n"
BRANCH = "m = x > 0.5\ny = y * 1\nif m.any():\n    {}\nreturn y"
LINES = {
    "names for parts": "a = x[m]\n    # Both of them.\n    b, c = g(a, y[m])\n    y[m] = b / (1 + c)",
    "a stack that is reduced": "a = x[m]\n    y[m] = torch.logsumexp(torch.stack((a, a + y[m]), dim=0), dim=0)",
    "more than one write": "a = x[m]\n    x[m] = a - 1\n    y[m] = x[m] + a",
    "a new tensor of the same size": "a = x[m]\n    y[m] = g(a.new_ones(a.shape), a)[0]",
    "a part of another tensor": "a = x[m]\n    y.view(-1)[m] = a.exp()",
}


def source_of(body: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in body.split("\n"))


@pytest.mark.parametrize("lines", LINES.values(), ids=LINES)
def test_what_is_computed_of_selected_rows_is_computed_of_all(make: Any, runner: Any, lines: str) -> None:
    import torch

    source = source_of(BRANCH.format(lines))
    after = make(source, cst.Call, "any(").after(call_with_all_rows)
    assert "picked(x)" in after and ("# Both of them." in after) == ("# Both" in source)
    for values in ([0.1, 0.7, float("nan")], [0.1, 0.2, 0.3], [0.7, 0.8, 0.9]):
        found = []
        for text in (source, after):
            x, y = torch.tensor(values, requires_grad=True), torch.ones(3, requires_grad=True)
            result = runner.eager(text, x * 1, y)
            found.append((result, torch.autograd.grad(result.sum(), y)[0]))
        torch.testing.assert_close(found[1], found[0], rtol=0, atol=0, equal_nan=True)
        compiled = runner.compiled(after, x.detach().clone(), y.detach(), fullgraph=True)
        torch.testing.assert_close(compiled.value, found[0][0].detach(), rtol=0, atol=0, equal_nan=True)


def test_a_reduction_of_each_row_is_no_joining_of_rows(fixed: Any, runner: Any) -> None:
    import torch

    source = (
        "import torch\n\n\ndef f(x, y):\n    m = x[:, 0] > 0.5\n    if m.sum() > 0:\n        a = x[m].softmax(dim=-1)\n"
        "        y[m] = a.max(dim=1)[0]\n    return y\n\n\n"
        "def graphdoctor_target():\n    return f, (torch.rand(4, 3), torch.rand(4))\n"
    )
    after = fixed(source, unsafe=True).text
    assert "a = picked(x).softmax(dim=-1)" in after
    for x in (torch.arange(12.0).view(4, 3) / 9, torch.zeros(4, 3)):
        expected = runner.eager(source, x, torch.ones(4))
        torch.testing.assert_close(runner.eager(after, x, torch.ones(4)), expected, rtol=0, atol=0)


JOINS = "draws random numbers for each row, or joins the rows"
COUNTS = "`.+` depends on how many rows there are, or on their order"
REFUSED = {
    "the number of rows": ("a = x[m]\n    y[m] = a / len(a)", COUNTS),
    "a size": ("a = x[m]\n    y[m] = a * a.shape[0]", COUNTS),
    "one of the rows": ("a = x[m]\n    y[m] = a + a[1]", COUNTS),
    "an order of the rows": ("a = x[m]\n    y[m] = a[torch.arange(a.shape[0])]", COUNTS),
    "a sum": ("a = x[m]\n    y[m] = a * a.sum()", JOINS),
    "a sum over rows that lie along the last dimension": ("a = x[m].unsqueeze(0)\n    y[m] = a.softmax(-1)[0]", JOINS),
    "a stack along another dimension": ("a = x[m]\n    y[m] = torch.stack((a, a), dim=1).sum(0)", JOINS),
    "a product of all": ("a = x[m]\n    y[m] = a * torch.matmul(a, a)", JOINS),
    "an outer product": ("a = x[m]\n    y[m] = a[:, None] @ a[None, :]", JOINS),
    "a number": (
        "a = x[m]\n    y[m] = 2.0\n    x[m] = a", "what is called does not get what the mask selects, or reads the mask"
    ),
    "a name that is read later": ("y = x[m]\n    x[m] = y * 2", "`y` is used outside the branch too"),
    "the mask": ("a = x[m]\n    m[m] = a > 3\n    y[m] = x[m]", "the branch changes what its mask is made of"),
    "another statement": ("a = x[m]\n    a *= 2\n    y[m] = a", "the branch does more than write back what a mask selects"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_rows_that_meet_each_other_stay(make: Any, name: str) -> None:
    lines, reason = REFUSED[name]
    with pytest.raises(Refuse, match=reason):
        make(source_of(BRANCH.format(lines)), cst.Call, "any(").run(call_with_all_rows)


def test_a_tensor_of_another_shape_than_the_mask_still_raises(make: Any, runner: Any) -> None:
    import torch

    after = make(source_of(BRANCH.format("a = x[m]\n    y[m] = a * 2")), cst.Call, "any(").after(call_with_all_rows)
    assert "picked(x)" in after
    longer = after.replace("picked(x)", "picked(torch.cat([x, x]))")
    with pytest.raises(RuntimeError):
        runner.eager(longer, torch.rand(3), torch.ones(3))
