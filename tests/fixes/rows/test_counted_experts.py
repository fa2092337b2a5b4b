"""Loops over how many sorted rows each expert gets: why some stay. What the rewrite gives is run in test_routed_rows."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.rows.counted_experts import loop_over_all_counted
from graphdoctor.static.domain.values import UNKNOWN
from graphdoctor.static.rule import Refusal

START = "counts = ids.sum(0).cpu().numpy()\nouts = []\nstart = 0\n"
LOOP = "for i, n in enumerate(counts):\n"
END = "    end = start + n\n"
SKIP = "    if n == 0:\n        continue\n"
ADD = "    outs.append(self.experts[i](x[start:end]))\n"
NEXT = "    start = end\n"
CAT = "y = torch.cat(outs)\n"

#: The lines of the function, and why they stay.
REFUSED = (
    ("return x.sum()", "This is no loop over how many rows each expert gets."),
    (START + "for e, (n, m) in enumerate(counts):\n    outs.append(n)\n", "This is no loop over how many rows each expert gets."),
    (START + LOOP + SKIP + "    outs.append(x[i])\n" + CAT, "This is no loop over how many rows each expert gets."),
    (START + LOOP + END + "    print(i)\n" + ADD + NEXT + CAT, "Line 10 of the loop does more than compute and collect rows."),
    (START + LOOP + END + NEXT + CAT, "The loop does not collect its rows in one list."),
    (START.replace("[]", "[x]") + LOOP + END + ADD + NEXT + CAT, "The loop does not collect its rows in one list."),
    (START + LOOP + END + ADD + NEXT + "y = outs[0]\n", "`outs` is more than joined by torch.cat."),
    (START + LOOP + END + ADD + NEXT + CAT + "z = outs\n", "`outs` is more than joined by torch.cat."),
    (START.replace("start = 0", "start = 1") + LOOP + END + ADD + NEXT + CAT,
     "`start` does not begin with 0 and end where the rows of an expert end."),
    (START + LOOP + END + ADD + CAT, "`start` does not begin with 0 and end where the rows of an expert end."),
    (START + LOOP + END + "    z = x[start:end] / n\n" + ADD + NEXT + CAT, "Line 10 does more than cut the sorted rows."),
    (START + LOOP + END + "    outs.append(self.experts[i](g(x)[start:end]))\n" + NEXT + CAT,
     "The rows that are cut have no name."),
    (START + LOOP + END + "    outs.append(self.experts[i](x))\n" + NEXT + CAT, "No rows are cut by `[start:end]`."),
    (START + LOOP + END + ADD + NEXT + CAT + "return counts\n", "`counts` is read in another way too."),
)  # fmt: skip


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row[1])
def test_refusal(row: tuple[str, str], make: Any) -> None:
    body, sentence = row
    source = "import torch\n\n\ndef f(self, x, ids):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    case = make(source, cst.Call, "sum", UNKNOWN)
    plan = first_fit(case.hit, case.editor, loop_over_all_counted)
    assert isinstance(plan, Refusal)
    assert plan.reason == sentence
