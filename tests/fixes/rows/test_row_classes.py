"""The loss of the classes of rows that one mask selects, whose scores are selected one by one."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest
import torch

from graphdoctor.fixes.rows.row_classes import ignore_other_rows
from graphdoctor.static.domain.values import UNKNOWN

HEAD = "import torch\nimport torch.nn.functional as F\n\n\ndef f(x, y: torch.Tensor, n=2):\n"
TAIL = "\n\ndef graphdoctor_target():\n    return f, (torch.rand(2, 5, 3), torch.randint(0, 3, (2, 5)))\n"

#: As detection losses are written, and what the lines become.
BOTH = (
    ["pos = y > 1", "neg = y == 0", "e = pos.unsqueeze(2).expand_as(x)", "g = neg.unsqueeze(2).expand_as(x)",
     "scores = x[(e + g).gt(0)].view(-1, 3)", "labels = y[(pos + neg).gt(0)]",
     "return F.cross_entropy(scores, labels, size_average=False)"],
    ["scores = x.reshape(-1, 3)", "labels = torch.where((pos + neg).gt(0), y, -100).flatten()",
     "return F.cross_entropy(scores, labels, size_average=False)"],
)  # fmt: skip
ONE = (
    [
        "m = y > 0",
        "e = m.unsqueeze(-1).expand_as(x)",
        "return F.cross_entropy(x[e].view(-1, x.shape[2]), y[m], ignore_index=2)",
    ],
    ["return F.cross_entropy(x.reshape(-1, x.shape[2]), torch.where(m, y, 2).flatten(), ignore_index=2)"],
)


@pytest.mark.parametrize("lines, written", [BOTH, ONE])
def test_all_rows_have_the_same_loss(fixed: Any, runner: Any, lines: list[str], written: list[str]) -> None:
    source = HEAD + "".join(f"    {line}\n" for line in lines) + TAIL
    after = fixed(source, unsafe=True)
    assert after.text.endswith("".join(f"    {line}\n" for line in written) + TAIL) and "expand_as" not in after.text
    for labels in (torch.tensor([[0, 1, 2, 2, 0], [1, 1, 0, 2, 0]]), torch.ones(2, 5).long(), torch.zeros(2, 5).long()):
        given = [torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0)).requires_grad_() for _ in range(2)]
        expected = runner.eager(source, given[0], labels)
        found = runner.compiled(after.text, given[1], labels, fullgraph=True)
        assert found.graphs == 1
        torch.testing.assert_close(found.value, expected, equal_nan=True)
        if expected.isfinite():
            before, now = (torch.autograd.grad(v, x)[0] for v, x in zip((expected, found.value), given, strict=True))
            torch.testing.assert_close(now, before)


SPREAD = "m = y > 0\ne = m.unsqueeze(2).expand_as(x)\n"


@pytest.mark.parametrize(
    "body, reason",
    [
        ("return x[x > 0].sum()", "No loss of classes gets what the mask selects."),
        (
            SPREAD + "return F.cross_entropy(x[e], y[m])",
            "The scores are not made rows again after a mask selects from them.",
        ),
        (
            SPREAD + "return F.cross_entropy(x[e].view(-1, 3), y[y > 1])",
            "`e` is not shown to be `y > 1` for each class.",
        ),
        (
            "m = y > 0\ne = x > 0\nreturn F.cross_entropy(x[e].view(-1, 3), y[m])",
            "`e` is not a mask of the rows that is spread over `x`.",
        ),
        (
            SPREAD + "m = y > 1\nreturn F.cross_entropy(x[e].view(-1, 3), y[m])",
            "`e` is not a mask of the rows that is spread over `x`.",
        ),
        (SPREAD + "return F.cross_entropy(x[e].view(-1, 3), y[n])", "`n` is not shown to be a mask."),
        (
            SPREAD + "return F.cross_entropy(x[e].view(-1, 3), y[m], reduction='none')",
            "`F.cross_entropy(x[e].view(-1, 3), y[m], reduction='none')` has a value for each row.",
        ),
        (
            SPREAD + "return F.cross_entropy(x[e].view(-1, 3), y[m], None)",
            "The options of `F.cross_entropy` are not known here.",
        ),
        (
            "loss = torch.nn.CrossEntropyLoss()\n" + SPREAD + "return loss(x[e].view(-1, 3), y[m])",
            "The options of `loss` are not known here.",
        ),
    ],
)
def test_other_losses_stay(refusal: Any, body: str, reason: str) -> None:
    source = HEAD + "".join(f"    {line}\n" for line in body.splitlines())
    assert refusal(ignore_other_rows, source, (cst.Subscript, "x["), UNKNOWN) == reason
