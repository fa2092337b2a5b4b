"""Experts that take slices of sorted rows: the loop over all rows gives the same, and what it refuses."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.rows.sorted_experts import loop_over_all_sorted
from graphdoctor.static.domain.values import UNKNOWN
from graphdoctor.static.rule import Refusal

HEAD = "import torch\nimport torch.nn as nn\n\n\n"
ORDER = "order = chosen.argsort()\n"
ENDS = "ends = chosen.bincount().cpu().numpy().cumsum(0)\n"
TOKENS = "tokens = order // 2\n"
LOOP = "for i, end in enumerate(ends):\n"
START = "    start = 0 if i == 0 else ends[i - 1]\n"
SKIP = "    if start == end:\n        continue\n"
ROWS = "    rows = tokens[start:end]\n"
VALUE = "    value = self.experts[i](x[rows]) + 0\n    value.mul_(weights[order[start:end]])\n"
INDEX_ADD = "    out.index_add_(0, rows, value)\n"
SCATTER_ADD = "    out.scatter_add_(0, rows[:, None].repeat(1, 8), value)\n"
SCATTER_REDUCE = (
    '    out = out.to(value.dtype)\n    out.scatter_reduce_(0, rows[:, None].repeat(1, 8), value, reduce="sum")\n'
)
ADDS = (INDEX_ADD, SCATTER_ADD, SCATTER_REDUCE, INDEX_ADD.replace("value)", "value * 2)"))
BODY = ORDER + ENDS + TOKENS + LOOP + START + SKIP + ROWS + VALUE

NET = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))
        self.gate = nn.Linear(8, 2)

    def forward(self, x):
        weights = self.gate(x).reshape(-1, 1)
        chosen = (x[:, :2] > 0).long().flatten() * 2
        out = torch.zeros_like(x)
"""
TAIL = """\
        return out


torch.manual_seed(0)
model = Net()


def f(x):
    return model(x)


def graphdoctor_target():
    return f, (torch.randn(4, 8),)
"""


def program(body: str) -> str:
    return HEAD + NET + "".join(f"        {line}\n" for line in body.splitlines()) + TAIL


@pytest.mark.parametrize("add", ADDS)
def test_all_experts_on_all_rows_give_the_same_sums(add: str, fixed: Any, runner: Any) -> None:
    import torch

    source = program(BODY + add)
    after = fixed(source, unsafe=True).text
    assert "for i in range(len(self.experts)):" in after
    assert "expert_of_row = chosen[order]" in after
    assert fixed(after, unsafe=True).text == after
    torch.manual_seed(0)
    # Experts 0 and 2 alone get rows; then only the first; then only the third.
    for x in (torch.randn(4, 8), -torch.rand(4, 8), torch.rand(4, 8)):
        torch.testing.assert_close(runner.eager(after, x), runner.eager(source, x))
    x = torch.randn(4, 8)
    for fullgraph in (False, True):
        result = runner.compiled(after, x, fullgraph=fullgraph)
        assert (result.breaks, result.graphs) == (0, 1)
        torch.testing.assert_close(result.value, runner.eager(source, x))


def test_the_gradients_stay(fixed: Any, runner: Any) -> None:
    import torch

    # Chained scatter_reduce_ has no gradient in eager, so the sum is one that has.
    source = program(BODY + INDEX_ADD)
    torch.manual_seed(0)
    x = torch.randn(4, 8, requires_grad=True)
    before, after = (
        torch.autograd.grad(runner.eager(text, x).square().sum(), x)[0]
        for text in (source, fixed(source, unsafe=True).text)
    )
    torch.testing.assert_close(after, before)


#: The lines of the function, and why they stay.
REFUSED = (
    ("return chosen.bincount()", "This is no loop over rows that are sorted by expert."),
    (BODY.replace(ORDER, "") + INDEX_ADD,
     "The rows are not sorted by the numbers that bincount counts, before it does."),
    (BODY.replace(ORDER, "order = x.argsort()\n") + INDEX_ADD,
     "The rows are not sorted by the numbers that bincount counts, before it does."),
    (BODY.replace(ORDER, "order = chosen.argsort(descending=True)\n") + INDEX_ADD,
     "The rows are not sorted by the numbers that bincount counts, before it does."),
    (BODY.replace(SKIP, "") + INDEX_ADD,
     "The loop does not begin with where its rows start, and with passing over no rows."),
    (BODY.replace(" - 1]", " - 2]") + INDEX_ADD,
     "The loop does not begin with where its rows start, and with passing over no rows."),
    (BODY + "    out[rows] = value\n",
     "The loop does not add up its rows by one index_add_, scatter_add_ or scatter_reduce_."),
    (BODY + SCATTER_REDUCE.replace('"sum"', '"amax"'), "`scatter_reduce_` does not just add up."),
    (BODY + INDEX_ADD.replace("value)", "value, alpha=2)"), "`index_add_` does not just add up."),
    (BODY + "    self.seen = rows\n" + INDEX_ADD, "Line 15 of the loop does more than compute the rows."),
    (BODY + "    print(rows)\n" + INDEX_ADD, "Line 15 of the loop does more than compute the rows."),
    (BODY + INDEX_ADD + "return value\n", "`value` of the loop is used outside of it."),
    (BODY.replace("self.experts[i]", "self.expert") + INDEX_ADD, "The loop does not read one list of experts by `i`."),
    (BODY + "    count = end - start\n" + INDEX_ADD, "Line 15 does more than cut the sorted rows."),
    (BODY + INDEX_ADD + "return ends\n", "Line 16 does more than cut the sorted rows."),
    (BODY.replace(TOKENS, "tokens = chosen // 2\n") + INDEX_ADD, "`tokens` is not made from the sorted rows."),
)  # fmt: skip


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row[1])
def test_refusal(row: tuple[str, str], make: Any) -> None:
    body, sentence = row
    source = "import torch\n\n\ndef f(self, x, chosen):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    case = make(source, cst.Call, "bincount", UNKNOWN)
    plan = first_fit(case.hit, case.editor, loop_over_all_sorted)
    assert isinstance(plan, Refusal)
    assert plan.reason == sentence
