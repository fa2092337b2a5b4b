"""A number that is written to positions which a mask selects from an order: run before and after."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.rows.masked_losses import reduce_selected
from graphdoctor.fixes.rows.written_positions import write_positions
from graphdoctor.static.domain.values import UNKNOWN

PROGRAM = """\
import torch


def f(x):
{}

def graphdoctor_target():
    return f, (torch.rand(6),)
"""
FORMS = {
    "two lines": "values, order = torch.sort(x, descending=True)\nout = values.cumsum(0) > 1.2\nout[1:] = out[:-1].clone()\n"
    "out[0] = False\nidx = order[out]\nx[idx] = -float('inf')\nreturn x.softmax(0)",
    "a name that is used twice": "values, order = x.sort()\nif x.ndim > 0:\n    idx = x < 0.1\n    x[idx] = 0.5\nif x.ndim > 0:\n"
    "    idx = order[values > 0.7]\n    x[idx] = 0.25\nreturn x",
    "one line": "order = x.argsort()\ny = x * 2\ny[order[x.cumsum(0) > 1.5]] = 0\nreturn y",
    "the best ones": "best = torch.topk(x, 3).indices\ny = x * 2\ny[best[x[:3] > 0.5]] = 1.5\nreturn y",
}
#: Where the rewrite must not be made.
KEPT = {
    "no order": "order = x.long()\ny = x * 2\ny[order[x > 0.5]] = 0.0\nreturn y",
    "positions that are read again": (
        "order = x.argsort()\ny = x * 2\nidx = order[x > 0.5]\ny[idx] = 0.0\nreturn y, idx"
    ),
    "something in between": "order = x.argsort()\ny = x * 2\nidx = order[x > 0.5]\ny = y + 1\ny[idx] = 0.0\nreturn y",
    "a tensor": "order = x.argsort()\ny = x * 2\ny[order[x > 0.5]] = x.sum()\nreturn y",
    "rows": "order = x.view(2, 3).argsort()\ny = x.view(2, 3) * 2\ny[order[x.view(2, 3) > 2]] = 0.0\nreturn y",
    "another object": "order = x.argsort()\ny = x * 2\ny.data[order[x > 0.5]] = 0.0\nreturn y",
}  # fmt: skip


def program(body: str) -> str:
    return PROGRAM.format("".join(f"    {line}\n" for line in body.splitlines()))


@pytest.mark.parametrize("form", FORMS)
def test_the_same_is_written(fixed: Any, runner: Any, form: str) -> None:
    import torch

    source = program(FORMS[form])
    after = fixed(source, unsafe=True).text
    assert ".masked_fill(" in after
    for x in (torch.tensor([0.9, 0.1, 0.4, 0.4, 0.8, 0.2]), torch.zeros(6), torch.arange(6.0), -torch.arange(6.0)):
        found = []
        for text in (source, after):
            given = x.clone().requires_grad_()
            result = runner.eager(text, given * 1)
            found.append((result.detach(), *torch.autograd.grad(result.square().sum(), given)))
        torch.testing.assert_close(found[1], found[0], rtol=0, atol=0, equal_nan=True)
        compiled = runner.compiled(after, x.clone(), fullgraph=True)
        assert (compiled.graphs, compiled.breaks) == (1, 0)
        torch.testing.assert_close(compiled.value, found[0][0], rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("case", KEPT)
def test_what_is_no_order_stays(fixed: Any, case: str) -> None:
    text = fixed(program(KEPT[case]), unsafe=True).text
    assert "masked_fill" not in text and ", 1)" not in text


ORDER = "order = x.argsort()\n"
REFUSALS = {
    "y = x[:2]": "This selects no positions by one mask.",
    "y = x[x > 0]": "This does not write to positions that a mask selects from an order.",
    ORDER + "i = order[x > 0]\nx.data[i] = 0": "`x.data[i] = 0` does not write a number to a tensor with a name.",
    ORDER + "i = order[x > 0]\nx[i] = 0": "`order` is not shown to have one dimension.",
}


@pytest.mark.parametrize("body", REFUSALS)
def test_why_not(refusal: Any, body: str) -> None:
    inner = next(n for n in ("order[x > 0]", "x[x > 0]", "x[:2]") if n in body)
    assert refusal(write_positions, body, (cst.Subscript, inner), UNKNOWN) == REFUSALS[body]


def test_places_are_no_selected_values(refusal: Any) -> None:
    body = "m = x > 0\ni = y[m]\nx[i] = 0"
    assert refusal(reduce_selected, body, (cst.Subscript, "y["), UNKNOWN) == "`x[i]` is written where the mask selects."
