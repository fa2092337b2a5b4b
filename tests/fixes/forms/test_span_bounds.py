"""Numbers that only bound spans stay tensors, and the spans are written by comparing positions."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest
import torch

from graphdoctor.fixes.forms.span_bounds import keep_bounds
from graphdoctor.static.domain.values import UNKNOWN

HEAD = "import torch\n\n\ndef f(x: torch.Tensor, n: torch.Tensor):\n    out = torch.zeros(3, 5)\n"
TAIL = "    return out * x\n\n\ndef graphdoctor_target():\n    return f, (torch.rand(3, 5), torch.tensor([2, 5, 0]))\n"
BELOW = "torch.arange(out.shape[1], device=out.device) < k + out.shape[1] * (k < 0)"


@pytest.mark.parametrize(
    ("lines", "written"),
    [
        (
            ["for i, k in enumerate(n.tolist()):", "    out[i, :k] = 1"],
            ["for i, k in enumerate(n):", f"    out[i].masked_fill_({BELOW}, 1)"],
        ),
        (
            ["for row, i, k in zip(x, range(3), n.tolist()):", "    out[i, :k] = x[i, :k]"],
            ["for row, i, k in zip(x, range(3), n):", f"    out[i].copy_(torch.where({BELOW}, x[i], out[i]))"],
        ),
        (
            ["for k in n.tolist():", "    out[0, :k] = x[0, :k]", "    out[1, :k] = 2"],
            [
                "for k in n:",
                f"    out[0].copy_(torch.where({BELOW}, x[0], out[0]))",
                f"    out[1].masked_fill_({BELOW}, 2)",
            ],
        ),
        (["k = n[1].item()", "out[:, :k] = 3"], ["k = n[1]", f"out.masked_fill_({BELOW}, 3)"]),
        (["k = int(n[2])", "out[:, :k] = 3"], ["k = n[2]", f"out.masked_fill_({BELOW}, 3)"]),
    ],
)
def test_they_stay_tensors(fixed: Any, runner: Any, lines: list[str], written: list[str]) -> None:
    source, expected = (HEAD + "".join(f"    {line}\n" for line in body) + TAIL for body in (lines, written))
    after = fixed(source, unsafe=True).text
    assert after == expected
    for lengths in ((2, 5, 0), (-1, -5, 9), (-9, 3, 1)):
        given = torch.rand(3, 5), torch.tensor(lengths)
        found = runner.compiled(after, *given, fullgraph=True)
        assert found.graphs == 1
        torch.testing.assert_close(found.value, runner.eager(source, *given))


ELSEWHERE = "The number does not only bound spans that are written."
UNNAMED = "The numbers have no name of their own."


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("k = abs(n)", "No number is read here."),
        ("return x * n.item()", "The number gets no name."),
        ("k = n[0].item()\nreturn x[:k]", ELSEWHERE),
        ("k = n[0].item()\nx[:k] = 0\nreturn x * k", ELSEWHERE),
        ("k = n[0].item()\nreturn x", ELSEWHERE),
        ("k = x.sum().item()\nx[:k] = 0", "`x.sum()` is not shown to hold whole numbers."),
        ("return n.tolist()", "The list is not what a loop goes over."),
        ("for a, k in n.tolist():\n    x[:k] = 0", UNNAMED),
        ("for k in n.tolist():\n    k = 2\n    x[:k] = 0", UNNAMED),
        ("for k in n.tolist():\n    x[:k] = 0\nreturn k", UNNAMED),
    ],
)
def test_other_numbers_are_read(refusal: Any, body: str, reason: str) -> None:
    marker = next(text for text in ("abs(", "item()", "tolist()") if text in body)
    assert refusal(keep_bounds, body, (cst.Call, marker), UNKNOWN) == reason
