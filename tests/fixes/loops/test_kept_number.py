"""Branches on a number that other code needs as one: the tensor decides, and the number stays."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.loops.kept_number import NO_NUMBER, decide_by_tensor

HEAD = "import torch\n\n\ndef f(x: torch.Tensor):\n"

DECIDED = {
    "a branch": "kl = (x - 1).mean().item()\ny = x * 2\nif kl > 0.1:\n    y = y * 0.0\nreturn y, kl",
    "a choice": "m = x.max()\nn = float(m)\nscale = x if n > 0.5 else x * 3\nreturn scale, {'n': n}",
    "an early return": "n = x.mean().item()\nif not n > 0.1:\n    return x - 1, n\ny = x + 1\nreturn y, n",
    "written to before": "m = x.sum()\nn = m.item()\nm += 5\ny = x\nif n > 1.0:\n    y = x * m\nreturn y, n",
    "two of them": "a = x.min().item()\nb = x.max().item()\ny = x\nif a > -1.0 and b > 0.5:\n    y = x * 2\nreturn y, a, b",
}


def source_of(body: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in body.split("\n"))


@pytest.mark.parametrize("body", DECIDED.values(), ids=DECIDED)
def test_the_number_stays_and_its_tensor_decides(make: Any, runner: Any, body: str) -> None:
    import torch

    source = source_of(body)
    after = make(source, cst.IfExp if " if " in body else cst.If).run(lambda *args: decide_by_tensor(*args[-2:]))
    text = make(source, cst.IfExp if " if " in body else cst.If).after(lambda *args: decide_by_tensor(*args[-2:]))
    assert "stays a number" in after.reason and after.safety == "unsafe"
    assert "torch.where(" in text and text.count(".item()") == source.count(".item()")
    for x in (torch.tensor([0.1, 0.7]), torch.tensor([-3.0, 0.1]), torch.tensor([9.0, 4.0])):
        torch.testing.assert_close(runner.eager(text, x), runner.eager(source, x), rtol=0, atol=0)
        value = runner.compiled(text, x, fullgraph=True).value
        torch.testing.assert_close(value, runner.eager(source, x), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (
            "n = x.sum().item()\ny = x\nif n > 1.0:\n    y = x / n\nreturn y, n",
            "a side of the branch reads the number, which would be computed with in each call",
        ),
        ("n = x.shape[0]\ny = x\nif n > 1:\n    y = x * 2\nreturn y, n", "No number of a tensor decides the branch."),
        ("n = x.item()\ny = x\nif n > 1:\n    y = x * 2\nreturn y, n", "No number of a tensor decides the branch."),
        (
            "n = x.sum().item()\nn = n + 1\ny = x\nif n > 1:\n    y = x * 2\nreturn y, n",
            "No number of a tensor decides the branch.",
        ),
    ],
)
def test_what_else_decides_stays(make: Any, body: str, sentence: str) -> None:
    case = make(source_of(body), cst.If)
    try:
        plan = case.run(lambda *args: decide_by_tensor(*args[-2:]))
    except Refuse as refusal:
        assert sentence in str(refusal)
    else:
        assert plan == NO_NUMBER and sentence == "No number of a tensor decides the branch."
