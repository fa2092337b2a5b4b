"""What one mask selects and writes at the same places of another tensor is a choice for all elements."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest
import torch

from graphdoctor.fixes.rows.scattered_selection import scatter_selected
from graphdoctor.static.domain.values import UNKNOWN

HEAD = "import torch\n\n\ndef f(x: torch.Tensor, y: torch.Tensor, m: torch.BoolTensor):\n"
TAIL = "\n\ndef graphdoctor_target():\n    return f, (torch.rand(4, 3, 1), torch.rand(4, 3), torch.rand(4, 3) > 0.5)\n"


@pytest.mark.parametrize(
    "lines, written",
    [
        (
            ["s = y.masked_select(m)", "m = m.contiguous().view(4, 3, 1)", "x.masked_scatter_(m, s)", "return x * 2"],
            [
                "m = m.contiguous().view(4, 3, 1)",
                "x.copy_(torch.where(m, y.contiguous().view(4, 3, 1), x))",
                "return x * 2",
            ],
        ),
        (
            ["x = x * 3", "x.masked_scatter_(m.unsqueeze(2), y.masked_select(m))", "return x"],
            ["x = x * 3", "x.copy_(torch.where(m.unsqueeze(2), y.unsqueeze(2), x))", "return x"],
        ),
        (
            ["z = x.squeeze(2)", "return z.masked_scatter(m, (y + 1).masked_select(m)) - 1"],
            ["z = x.squeeze(2)", "return torch.where(m, (y + 1), z) - 1"],
        ),
    ],
)
def test_the_choice_is_made_for_all_elements(fixed: Any, runner: Any, lines: list[str], written: list[str]) -> None:
    source = HEAD + "".join(f"    {line}\n" for line in lines) + TAIL
    after = fixed(source, unsafe=True).text
    assert after == HEAD + "".join(f"    {line}\n" for line in written) + TAIL
    for m in (torch.rand(4, 3) > 0.5, torch.zeros(4, 3, dtype=torch.bool), torch.ones(4, 3, dtype=torch.bool)):
        x, y = torch.rand(4, 3, 1), torch.rand(4, 3)
        y[0, 0] = float("nan")
        given = [(x.clone(), y.clone().requires_grad_(), m) for _ in range(2)]
        expected = runner.eager(source, *given[0])
        found = runner.compiled(after, *given[1], fullgraph=True)
        assert found.graphs == 1
        torch.testing.assert_close(found.value, expected, equal_nan=True)
        torch.testing.assert_close(given[1][0], given[0][0], equal_nan=True)
        grads = [torch.autograd.grad(v.sum(), g[1])[0] for v, g in zip((expected, found.value), given, strict=True)]
        torch.testing.assert_close(grads[1], grads[0])


SELECTED = "s = y.masked_select(m)\n"
OTHER = "What the mask selects is not put into another tensor by a mask."


@pytest.mark.parametrize(
    "body, reason",
    [
        ("return y[m]", "No method selects by a mask."),
        ("return torch.masked_select(y, m)", "No method selects by a mask."),
        (SELECTED + "return s * 2", OTHER),
        (SELECTED + "return x.masked_scatter(mask=m, source=s)", OTHER),
        (SELECTED + "return x.masked_scatter(y > 1, s)", "`y > 1` is not shown to be the mask `m`."),
        (SELECTED + "m = m.flip(0)\nreturn x.masked_scatter(m, s)", "`m` is not shown to be the mask `m`."),
        (SELECTED + "n = int(x)\nreturn x.masked_scatter(n, s)", "`n` is not shown to be a mask."),
        (SELECTED + "y = y * 2\nreturn x.masked_scatter(m, s)", "`y` may change before it is scattered."),
        (SELECTED + "y += 2\nreturn x.masked_scatter(m, s)", "`y` may change before it is scattered."),
        (SELECTED + "y[0] = 2\nreturn x.masked_scatter(m, s)", "`y` may change before it is scattered."),
        ("s = g(y).masked_select(m)\nreturn x.masked_scatter(m, s)", "`g(y)` may change before it is scattered."),
    ],
)
def test_other_masks_and_changed_values_stay(refusal: Any, body: str, reason: str) -> None:
    source = HEAD + "".join(f"    {line}\n" for line in body.splitlines())
    kind = cst.Subscript if "y[m]" in body else cst.Call
    assert refusal(scatter_selected, source, (kind, "y[m]" if "y[m]" in body else "masked_select("), UNKNOWN) == reason
