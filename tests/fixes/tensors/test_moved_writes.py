"""Writes at a place that a tensor names, as queues and caches make: the same in one graph."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graphdoctor.fixes.tensors.conversions import keep_tensor
from graphdoctor.static.domain.values import Tensor

PROGRAM = """\
import torch


def f(x, p: torch.LongTensor, v):
{}

def graphdoctor_target():
    return f, (torch.zeros(4, 6), torch.tensor([2]), torch.rand(4, 3))
"""
FORMS = {
    "a queue": "n = v.shape[1]\ni = int(p)\nx[:, i:i + n] = v\ni = (i + n) % 6\np[0] = i\nreturn x",
    "the width first": "i = p.item()\nx[..., i : 3 + i] = v * 2\nreturn x * 1",
    "rows": "i = p.item()\nx[i : i + v.size(1), :4] = v.T\nreturn x",
    "one row of it": "i = p.item()\nx[1, i : i + v.size(1)] = v[0]\nreturn x",
    "one row": "i = p.item()\nx[i] = v.mean()\np += 1\nreturn x + i",
    "a number": "i = p.item()\nx[i] = 0.5\nx[i + 1] += 2\nreturn x",
    "a column": "i = int(p)\nx[:, i] = v[:, 0].double()\nx[:, i] *= v[:, 1]\nreturn x",
    "a mask": "i = int(p)\nx[:, i] = ~(v[:, 0] > 0.5)\nreturn x",
    "a column of fewer dimensions": "i = int(p)\nx[:, i] = v.sum()\nreturn x",
}  # fmt: skip


def program(body: str) -> str:
    return PROGRAM.format("".join(f"    {line}\n" for line in body.splitlines()))


@pytest.mark.parametrize("form", FORMS)
def test_the_same_is_written_at_each_position(fixed: Any, runner: Any, form: str) -> None:
    import torch

    source = program(FORMS[form])
    after = fixed(source, unsafe=True).text
    assert "capture_" not in after

    def called(text: str, run: Any, position: int) -> Any:
        generator = torch.Generator().manual_seed(0)
        x, p = torch.rand(4, 6, generator=generator), torch.tensor([position])
        return run(text, x, p, torch.rand(4, 3, generator=generator)), x, p

    for position in (0, 1, 2, 3, -1):
        try:
            before = called(source, runner.eager, position)
        except (IndexError, RuntimeError):
            continue  # The window does not fit.
        torch.testing.assert_close(called(after, runner.eager, position), before, rtol=0, atol=0)
    compiled, x, p = called(after, lambda *given: runner.compiled(*given, fullgraph=True), 0)
    assert (compiled.graphs, compiled.breaks) == (1, 0)
    torch.testing.assert_close((compiled.value, x, p), called(source, runner.eager, 0), rtol=0, atol=0)


@pytest.mark.parametrize(
    "body",
    [
        "i = p.item()\nx[i : i + v.size(1)] = 0\nreturn x",
        "i = p.item()\nx[i : i + i] = v\nreturn x",
        "i = p.item()\nx[i : i + 3] = v + i\nreturn x",
        "i = p.item()\nx[0, :, i : i + 3] = v\nreturn x",
        "i = p.item()\nx[i] = x[i - 1]\nreturn x",
        "i = p.item()\nx[i, :2] = v.sum()\nreturn x",
        "i = p.item()\nx.data[i] = v.tolist()\nreturn x",
        "for k in range(2):\n    i = p.item()\n    x[i] = 1\n    i = k\n    x[i] = 2\nreturn x",
    ],
)
def test_what_is_no_such_write_is_no_other_code(fixed: Any, body: str) -> None:
    text = fixed(program(body), unsafe=True).text
    assert "arange" not in text and "reshape(1)" not in text


def test_the_number_is_a_copy_where_its_tensor_is_written(fixed: Any) -> None:
    text = fixed(program("i = p[0].item()\np += 1\nreturn x * i"), unsafe=True).text
    assert "i = p[0].detach().clone()\n" in text
    text = fixed(program("i = p[0].item()\nreturn x * i"), unsafe=True).text
    assert "i = p[0].detach()\n" in text


REFUSALS = {
    "i = p.item()\nx[:, 0, i : i + 3, 1:n] = v\nreturn x": "`x[:, 0, i : i + 3, 1:n]` is not shown to be one window of a tensor.",
    "i = p.item()\nx[i : i + 3] = v + i\nreturn x": "`v + i` is not shown to be a tensor of the size of the window.",
    "i = p.item()\nx[i, :2] = v\nreturn x": "`x[i, :2]` is not shown to be one place of a tensor.",
    "i = p.item()\nx[i] = v.tolist()\nreturn x": "`v.tolist()` is neither shown to be a number nor a tensor.",
}  # fmt: skip


@pytest.mark.parametrize("body", REFUSALS)
def test_refusals(make: Any, body: str) -> None:
    source = program(body).replace("    i =", "    n = x.sum().long()\n    i =", 1)
    case = make(source, marker="p.item")
    case = replace(case, hit=replace(case.hit, event=replace(case.hit.event, receiver=Tensor("int"))))
    assert case.refusal(keep_tensor) == REFUSALS[body]
