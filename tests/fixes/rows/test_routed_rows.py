"""Loops over the rows that masks select: with a fixed number of rows they give the same, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.apply import fixed_texts, select_fixes
from graphdoctor.fixes.rows.routed_rows import loop_over_all_rows
from graphdoctor.fixes.tensors.counts import count_into
from graphdoctor.lint import engine
from graphdoctor.static.domain.values import UNKNOWN
from graphdoctor.static.rule import Refusal

HEAD = """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

"""
START = "h = x.flatten(0, 1)\nw, ids = h[:, :3].softmax(-1).topk(2)\nout = torch.zeros_like(h)\n"
EACH = "for e, expert in enumerate(self.experts):\n"
WHERE = "    rows, slots = torch.where(ids == e)\n"
SKIP = "    if rows.numel() == 0:\n        continue\n"
ADD = "    out[rows] += expert(h[rows]) * w[rows, slots, None]\n"
END = "return out.view_as(x)\n"
ZEROS = "    elif self.training:\n        out[0, 0] += 0 * sum(p.sum() for p in expert.parameters())\n"

#: Bodies of methods, and a line that the fixed one must have.
FORMS = {
    "where": (START + EACH + WHERE + SKIP + ADD + END, "out.index_put_((rows,), values, accumulate=True)"),
    "topk": (START + EACH + WHERE + ADD + END, "_[..., 0].numel())"),
    "counted": (
        START + "counts = torch.bincount(ids.flatten(), minlength=4).tolist()\n" + EACH
        + "    if counts[e] == 0:\n        continue\n" + WHERE + ADD + END,
        "out = torch.zeros_like(h)\n        for e, expert in enumerate(self.experts):\n            mask_ = ids == e"),
    "masks": (
        START + EACH + "    mask = ids == e\n    if mask.any():\n"
        "        rows = mask.any(dim=-1).nonzero().flatten()\n        weight = w[mask].view(-1, 1)\n"
        "        # added up\n        out.index_add_(0, rows, expert(h[rows]) * weight)\n" + ZEROS + END,
        "            # added up\n            values = expert(h[rows]) * weight\n            out.index_add_(0, rows, torch.where("),
    "flat_mask": (
        START + "full = torch.zeros_like(x)\n" + EACH + "    chosen = (ids == e).any(-1).view(x.shape[:2])\n"
        "    flat = chosen.view(-1)\n    if flat.sum() > 0:\n        score = w[flat, 0].unsqueeze(1)\n"
        "        full[chosen] += (expert(h[flat]) * score).squeeze(1)\nreturn full\n",
        "full.index_put_(rows2, values, accumulate=True)"),
    "written": (
        START + "flat = ids[:, 0]\n" + EACH + "    out[flat == e] = expert(h[flat == e])\n" + END,
        "out.copy_(torch.where(mask_[(...,) + (None,) * (out.ndim - mask_.ndim)], new, out))"),
    "numbers": (
        "kinds = (x[0, :, 0] > 0).long() + (x[0, :, 1] > 0).long()\nsums = torch.zeros(kinds.shape)\nheights = x[0, :, 2]\n"
        "for e in range(3):\n    mask = kinds == e\n    if mask.any():\n        sums[mask] = heights[mask] * e\n"
        "return sums\n", "sums.copy_(torch.where(mask[(...,) + (None,) * (sums.ndim - mask.ndim)], new, sums))"),
    "numbers that are added": (
        "kinds = (x[0, :, 0] > 0).long()\nheights = x[0].sum(tuple(range(1, x.ndim - 1)))\nsums = torch.zeros_like(heights)\n"
        "for e in range(2):\n    rows = torch.where(kinds == e)[0]\n    sums.index_add_(0, rows, heights[rows] * e)\nreturn sums\n",
        "torch.where(routed[(...,) + (None,) * (values.ndim - 1)], values, 0))"),
    "first": (
        START + "top = ids[:, 0]\nfor e in range(3):\n    rows = (top == e).nonzero(as_tuple=True)[0]\n"
        "    if len(rows) > 0:\n        y = self.experts[e](h[rows])\n        y *= w[rows, 0].unsqueeze(-1)\n"
        "        out[rows] = y\n" + END, "rows = found.clamp(min=0).unbind(-1)[0]"),
    "distinct": (
        START + "hit = torch.unique(ids)\nfor number in hit:\n    e = int(number.item())\n    mask = ids == e\n"
        "    if not mask.any():\n        continue\n    rows, slots = mask.nonzero(as_tuple=True)\n"
        "    out = out.index_add(0, rows, self.experts[e](h[rows]) * w[rows, slots, None])\n" + END,
        "for number in range(len(self.experts)):\n            e = number\n"),
    "distinct_list": (
        START + "for e in sorted(set(ids.flatten().tolist())):\n" + WHERE
        + "    top = rows.tolist()\n    out[rows] = out[rows] + self.experts[e](h[top]) * w[rows, slots, None]\n" + END,
        "            top = rows\n"),
    "dims": (
        START + "ids = ids.view(*x.shape[:2], 2)\nfull = torch.zeros_like(x)\n" + EACH
        + "    b, t, k = torch.where(ids == e)\n    if b.shape[0] == 0:\n        continue\n    full[b, t] += expert(x[b, t])\n"
        "return full\n", "full.index_put_((b, t), values, accumulate=True)"),
    "nested": (
        START + "for k in range(2):\n    top = ids[:, k]\n    for e, expert in enumerate(self.experts):\n"
        "        mask = top == e\n        if mask.sum().item() == 0:\n            continue\n"
        "        out[mask] += w[:, k][mask].unsqueeze(-1) * expert(h[mask])\n" + END,
        "                values = w[:, k][rows_].unsqueeze(-1) * expert(h[rows_])"),
    "usage": (
        START + "used = torch.zeros(3)\n" + EACH + "    mask = (ids == e).any(-1)\n    used[e] = mask.sum()\n"
        "    if not mask.any():\n        continue\n    out[mask] += expert(h[mask])\nreturn out.view_as(x) + used.max()\n",
        "            used[e] = mask.sum()\n            found"),
    "recorded": (
        START + "load = []\n" + EACH + WHERE + "    load.append(len(rows) / h.size(0))\n" + SKIP + ADD
        + "return out.view_as(x) * torch.tensor(load, device=x.device).sum()\n",
        "            load.append(torch.count_nonzero(ids == e) / h.size(0))"),
    "used": (
        START + "used = torch.zeros(3)\n" + EACH + "    rows = (ids[:, 0] == e).nonzero(as_tuple=True)[0]\n"
        "    used[e] += rows.numel()\n    if len(rows) > 0:\n        out[rows] += expert(h[rows])\n"
        "return out.view_as(x) + used.max()\n",
        "            used[e] += torch.count_nonzero(ids[:, 0] == e)"),
    "sorted": (
        START + "counts = torch.zeros_like(h[:, :3]).scatter_(1, ids, 1).long().sum(dim=0)\norder = ids.view(-1).argsort()\n"
        "cut = h[order // 2]\ncounts = counts.cpu().numpy()\nparts = []\nstart = 0\nfor i, n in enumerate(counts):\n"
        "    end = start + n\n    if n == 0:\n        continue\n    expert = self.experts[i]\n"
        "    parts.append(expert(cut[start:end]))\n    start = end\n"
        "whole = torch.cat(parts, dim=0) if len(parts) else cut.new_empty(0)\nback = torch.empty_like(whole)\n"
        "back[order] = whole\nreturn (back.view(*ids.shape, -1) * w.unsqueeze(-1)).sum(1).view_as(x)\n",
        "            parts = parts + torch.where((expert_of_row == i)[:, None], expert(cut), 0)\n        whole = parts\n"),
    "load": (
        START + "load = torch.bincount(ids.flatten(), minlength=4)\nreturn x * load.sum()\n",
        "indices = ids.flatten().long()\n"
        "        load = indices.new_zeros(4).scatter_add_(0, indices, torch.ones_like(indices))"),
    "load beside others": (
        START + "return x * (x.size(0) + torch.bincount(ids.flatten(), minlength=4)).sum()\n",
        "ids.flatten().new_zeros(4, dtype=torch.int64).scatter_add_("),
}  # fmt: skip
TAIL = """\

torch.manual_seed(0)
model = Net().eval()


def f(x):
    return model(x)


def graphdoctor_target():
    return f, (torch.randn(2, 3, 8),)
"""


def program(*bodies: str) -> str:
    """A model that calls a method of each body."""
    methods = [
        f"    def form_{number}(self, x):\n" + "".join(f"        {line}\n" for line in body.splitlines())
        for number, body in enumerate(bodies)
    ]
    calls = ", ".join(f"self.form_{number}(x)" for number in range(len(bodies)))
    return HEAD + "\n".join(methods) + f"\n    def forward(self, x):\n        return [{calls}]\n" + TAIL


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """A program with all forms, with the fixes, and with the fixes of that one, which must be none."""
    folder = tmp_path_factory.mktemp("rows")
    before = program(*(body for body, _ in FORMS.values()))
    after = _fixed(folder, before)
    return before, after, _fixed(folder, after)


def _fixed(folder: Path, source: str) -> str:
    file = folder / "program.py"
    file.write_text(source)
    chosen, _ = select_fixes(engine.analyse([(file, "program.py")]).findings, unsafe=True)
    return fixed_texts({"program.py": source}, chosen).get("program.py", source)


def test_each_form_has_its_line(texts: tuple[str, str, str]) -> None:
    _, after, again = texts
    methods = after.split("    def form_")[1:]
    for method, (_, line) in zip(methods, FORMS.values(), strict=True):
        assert line in method
    assert again == after


def test_all_rows_give_the_same(texts: tuple[str, str, str], runner: Any) -> None:
    import torch

    before, after, _ = texts
    torch.manual_seed(0)
    x = torch.randn(2, 3, 8, requires_grad=True)
    one = torch.zeros(2, 3, 8)
    one[..., 1:3] = 5.0
    for inputs in (x, one):
        torch.testing.assert_close(runner.eager(after, inputs), runner.eager(before, inputs))
    gradients = [torch.autograd.grad(sum(y.square().sum() for y in runner.eager(t, x)), x)[0] for t in (before, after)]
    torch.testing.assert_close(*gradients)
    result = runner.compiled(after, x.detach())
    assert (result.breaks, result.graphs) == (0, 1)
    torch.testing.assert_close(result.value, runner.eager(before, x.detach()))


LOOP = "for e in range(4):\n"
SUM = "    out[rows] += self.experts[e](h[rows])\n"
#: The lines of the function, and why they stay.
REFUSED = (
    ("return torch.where(ids)", "This is no loop over rows that a mask selects."),
    (LOOP + WHERE + SUM + "else:\n    out = h\n", "The loop has an else."),
    ("for e in h.nonzero():\n" + WHERE + SUM, "`h.nonzero()` is data, and how often the loop runs depends on it."),
    ("for e, other in ids.unique():\n" + WHERE + SUM, "The loop binds more than the number of an expert."),
    ("for e in ids.unique():\n" + WHERE + "    out[rows] += h[rows]\n", "The loop does not read one list of experts by `e`."),
    ("for e in x: out[torch.where(ids == e)[0]] += 1", "The loop or a branch in it stands on one line."),
    (LOOP + WHERE + SUM + "    with x:\n        pass\n", "Line 8 of the loop does more than compute the rows."),
    (LOOP + WHERE + "    if rows.sum() > 3:\n        continue\n" + SUM,
     "Line 7 of the loop tests more than whether there are rows."),
    (LOOP + WHERE + "    if len(rows) == 0:\n        break\n" + SUM,
     "Line 7 of the loop does more than pass over an expert without rows."),
    (LOOP + WHERE + "    if len(rows):\n        h = h + 1\n" + SUM, "Line 7 of the loop has more to do where there are no rows."),
    (LOOP + WHERE + "    if len(rows):\n    " + SUM + "    else:\n        out += 1\n",
     "Line 7 of the loop has more to do where there are no rows."),
    (LOOP + WHERE + "    y = h[rows]\n", "The loop does not give its rows back by one sum."),
    (LOOP + "    out[h >= e] += 1\n", "`1` is not computed of rows that a mask selects."),
    (LOOP + WHERE + "    out[rows] *= h[rows]\n", "`out[rows]` is changed by more than a sum."),
    (LOOP + WHERE + "    out[1:, rows] += h[rows]\n", "`out[1:, rows]` is no plain choice of rows."),
    (LOOP + WHERE + "    out.index_add_(0, rows, h[rows], alpha=2)\n", "`index_add_` does not just add up."),
    (LOOP + WHERE + "    self.last = rows\n" + SUM, "Line 7 of the loop stores rows for other code."),
    (LOOP + WHERE + "    print(rows)\n" + SUM, "Line 7 of the loop does more than compute the rows."),
    (LOOP + WHERE + "    y = [r for r in rows]\n" + SUM, "`[r for r in rows]` may do more than compute the rows."),
    (LOOP + WHERE + "    y = h[rows] / rows.shape[0]\n" + SUM, "`rows.shape[0]` is how many rows are selected."),
    (LOOP + WHERE + "    y = h[rows] / len(rows)\n" + SUM, "`len(rows)` is how many rows are selected."),
    (LOOP + WHERE + "    if len(rows) == 0:\n        continue\n    n = len(rows)\n" + SUM,
     "`len(rows)` is how many rows are selected."),
    (LOOP + WHERE + "    n = f(len(rows))\n" + SUM, "The number is an argument or an index, where a tensor may mean something else."),
    (LOOP + WHERE + "    ids += 1\n    n = torch.tensor(len(rows))\n" + SUM,
     "`ids` is changed, and with it what `len(rows)` would count."),
    (LOOP + "    rows = h[ids == e]\n    n = torch.tensor(len(rows))\n" + SUM,
     "`rows` is not shown to be where a mask is true."),
    (LOOP + WHERE + "    y = torch.rand_like(h[rows])\n" + SUM, "`torch.rand_like(h[rows])` draws a number for each row."),
    (LOOP + WHERE + "    rows = rows[:9]\n" + SUM, "`rows[:9]` is a part of the rows."),
    (LOOP + WHERE + "    y = h[rows].mean(0)\n" + SUM, "`h[rows].mean(0)` may join the rows."),
    (LOOP + WHERE + SUM + "return rows\n", "`rows` of the loop is used after it."),
    (LOOP + WHERE + "    if not ids.any():\n        continue\n" + SUM, "`ids` is no mask that selects the rows."),
    (LOOP + WHERE + "    if len(h) == 0:\n        continue\n" + SUM, "`h` is not shown to have as many rows as are selected."),
    (LOOP + WHERE + "    out[ids] += h[rows]\n", "`out[ids] += h[rows]` does not give back the rows that the loop selects."),
    (LOOP + WHERE + "    out[rows] = h[rows]\n", "`rows` may have a row twice."),
    (LOOP + WHERE + "    y = h[ids > 3]\n" + SUM,
     "The loop selects by several masks, which are not shown to select as many rows."),
    (LOOP + "    y = h[h[:, 0] > e, 1:]\n    out[h[:, 0] > e] += y\n", "`h[h[:, 0] > e, 1:]` is more than a choice of rows."),
    (LOOP + WHERE + '    out[rows] += self.experts["""\n"""](h[rows])\n', "A string of several lines would be moved."),
)  # fmt: skip


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row[1])
def test_refusal(row: tuple[str, str], make: Any) -> None:
    body, sentence = row
    source = "import torch\n\n\ndef f(self, x, h, ids, out):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    case = make(source, cst.Call, "", UNKNOWN)
    plan = first_fit(case.hit, case.editor, loop_over_all_rows)
    assert isinstance(plan, Refusal)
    assert plan.reason == sentence


#: A call, and why it stays.
COUNTS = (
    ("torch.unique(x)", "Nothing is counted by bincount."),
    ("torch.bincount(x)", "How long the result has to be is not given; `minlength` says it."),
    ("torch.bincount(x, n, 4)", "Weights are added up, in a dtype of their own."),
    ("torch.bincount(next(x), minlength=4)", "`next(x)` would be computed more than once."),
    ("torch.bincount((y := x), minlength=4)", "`(y := x)` would be computed more than once."),
)


@pytest.mark.parametrize("row", COUNTS, ids=lambda row: row[0])
def test_counts_that_stay(row: tuple[str, str], refusal: Any) -> None:
    call, sentence = row
    assert refusal(count_into, f"return {call}", (cst.Call, row[0].partition("(")[0]), UNKNOWN) == sentence
