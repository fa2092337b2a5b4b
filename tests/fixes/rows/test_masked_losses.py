"""Losses of what a mask selects: what they become, and why some stay. The fixed programs run in tests of all rewrites."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest
import torch

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.apply import apply
from graphdoctor.fixes.rows.masked_losses import reduce_selected
from graphdoctor.static.domain.values import UNKNOWN
from graphdoctor.static.rule import FixPlan, Refusal

HEAD = "import torch\nimport torch.nn.functional as F\n\n\ndef f(x, y, m, n=2):\n"
KEEP = "    keep = m[(...,) + (None,) * (x.ndim - m.ndim)].expand_as(x)\n"

#: The lines of a function, and what they become.
FIXED = (
    ("return F.mse_loss(x[m], y[m])",
     KEEP + "    return torch.where(keep, F.mse_loss(torch.where(keep, x, 1), torch.where(keep, y, 1), reduction=\"none\"), 0)"
     ".sum() / keep.sum()\n"),
    ("a = x[m]\nb = a * 2\nreturn b.sum() + a.abs().sum()",
     KEEP + "    a = torch.where(keep, x, 1)\n    b = a * 2\n"
     "    return torch.where(keep, b, 0).sum() + torch.where(keep, a.abs(), 0).sum()\n"),
    ("return torch.exp(x[m]).sum()",
     KEEP + "    return torch.where(keep, torch.exp(torch.where(keep, x, 1)), 0).sum()\n"),
    ("return F.cross_entropy(x[m], y[m], ignore_index=0, weight=None)",
     "    return F.cross_entropy(x.flatten(0, m.ndim - 1), torch.where(m, y, 0).flatten(), ignore_index=0, weight=None)\n"),
    ("a = x[m].mean()\nreturn (x[m] - a).sum(), a",
     KEEP + "    a = torch.where(keep, x, 0).sum() / keep.sum()\n"
     "    return torch.where(keep, (torch.where(keep, x, 1) - a), 0).sum(), a\n"),
    ("return x[m > 1].sum()",
     "    mask = m > 1\n    keep = mask[(...,) + (None,) * (x.ndim - mask.ndim)].expand_as(x)\n"
     "    return torch.where(keep, x, 0).sum()\n"),
    ("return (x - y)[m].sum()",
     "    values = x - y\n    keep = m[(...,) + (None,) * (values.ndim - m.ndim)].expand_as(values)\n"
     "    return torch.where(keep, values, 0).sum()\n"),
    ("return (x -\n        y)[m].sum()",
     "    values = (x -\n        y)\n    keep = m[(...,) + (None,) * (values.ndim - m.ndim)].expand_as(values)\n"
     "    return torch.where(keep, values, 0).sum()\n"),
    ("return (x[m] > 0).all() | x[m].any()",
     KEEP + "    return torch.where(keep, (torch.where(keep, x, 1) > 0), True).all() | torch.where(keep, x, False).any()\n"),
    ("a = x.view(-1, 2)[m]\nb = y.view(-1)[m]\nreturn F.cross_entropy(a, b)",
     "    a = x.view(-1, 2)\n    b = y.view(-1)\n"
     "    return F.cross_entropy(a.flatten(0, m.ndim - 1), torch.where(m, b, -100).flatten())\n"),
    ("loss = torch.nn.HuberLoss(delta=0.5)\nreturn loss(x[m], y[m])",
     "    loss = torch.nn.HuberLoss(delta=0.5)\n" + KEEP + "    return torch.where(keep, torch.nn.functional.huber_loss("
     "torch.where(keep, x, 1), torch.where(keep, y, 1), delta=0.5, reduction=\"none\"), 0).sum() / keep.sum()\n"),
    ("k = m.unsqueeze(1).expand_as(x)\na = x[k].reshape(-1, 2)\nb = a.abs().sum()\nk = k[:1]\nreturn b + x[:1][k].sum()",
     "    k = m.unsqueeze(1).expand_as(x)\n    a = torch.where(k, x, 1)\n    b = torch.where(k, a.abs(), 0).sum()\n    k = k[:1]\n"
     "    return b + x[:1][k].sum()\n"),
    ("k = m.unsqueeze(1).expand_as(x)\nreturn F.mse_loss(x[k].view(-1, 2), y[k].view(-1, 2), size_average=False)",
     "    k = m.unsqueeze(1).expand_as(x)\n    return torch.where(k, F.mse_loss(torch.where(k, x, 1), torch.where(k, y, 1), "
     "reduction=\"none\"), 0).sum()\n"),
    ("a = x[m > 1]\nb = 1 - a\nreturn b.exp().mean()",
     "    mask = m > 1\n    keep = mask[(...,) + (None,) * (x.ndim - mask.ndim)].expand_as(x)\n    a = torch.where(keep, x, 1)\n"
     "    b = 1 - a\n    return torch.where(keep, b.exp(), 0).sum() / keep.sum()\n"),
    ("some = torch.zeros(4).any()\nreturn torch.log(torch.where(some, x[m], 1)).sum()",
     "    some = torch.zeros(4).any()\n" + KEEP +
     "    return torch.where(keep, torch.log(torch.where(some, torch.where(keep, x, 1), 1)), 0).sum()\n"),
    ("return F.l1_loss(x[m], torch.zeros_like(x[m]))",
     KEEP + "    return torch.where(keep, F.l1_loss(torch.where(keep, x, 1), torch.zeros_like(torch.where(keep, x, 1)), "
     "reduction=\"none\"), 0).sum() / keep.sum()\n"),
    ("e = F.smooth_l1_loss(x[m], y[m], reduction='none', beta=2)\nreturn (e * e).sum()",
     KEEP + "    e = F.smooth_l1_loss(torch.where(keep, x, 1), torch.where(keep, y, 1), reduction='none', beta=2)\n"
     "    return torch.where(keep, (e * e), 0).sum()\n"),
    ("a = x[m].abs()\nreturn a.sum() / (a.numel() + 1)",
     KEEP + "    a = torch.where(keep, x, 1).abs()\n    return torch.where(keep, a, 0).sum() / (keep.sum() + 1)\n"),
    ("z = y.clone()\nz[m] = 0\nreturn (x[m] * 2).sum() + z",
     "    z = y.clone()\n    z[m] = 0\n" + KEEP + "    return torch.where(keep, (torch.where(keep, x, 1) * 2), 0).sum() + z\n"),
    ("x = torch.zeros(4, 3)\nr = torch.zeros(3)\nm = torch.zeros(4) > 0\nreturn (x[m] - r).sum()",
     "    x = torch.zeros(4, 3)\n    r = torch.zeros(3)\n    m = torch.zeros(4) > 0\n" + KEEP +
     "    return torch.where(keep, (torch.where(keep, x, 1) - r), 0).sum()\n"),
    ("k = m.view(-1)\nloss = torch.nn.CrossEntropyLoss()\nreturn loss(x[k], y[k])",
     "    k = m.view(-1)\n    loss = torch.nn.CrossEntropyLoss()\n"
     "    return loss(x, torch.where(k, y, -100))\n"),
)  # fmt: skip

#: The lines of a function, and why they stay.
REFUSED = (
    ("return x[m, 1].sum()", "This is no selection by one mask."),
    ("return g(x)[m].sum()", "`g(x)` has no name, and may not be computed where its line begins."),
    ("loss = torch.nn.CrossEntropyLoss(reduction='none')\nreturn loss(x[m], y[m])",
     "`torch.nn.CrossEntropyLoss(reduction='none')` has a value for each that is selected."),
    ("loss = torch.nn.CrossEntropyLoss(None, None, 0)\nreturn loss(x[m], y[m])", "The options of `loss` are not known here."),
    ("a = x[m]\nreturn F.cross_entropy(a, y[m]) + a.max()", "`F.cross_entropy(a, y[m])` is not given what the mask selects as it is."),
    ("if x[m].sum() > 1:\n    y = x\nreturn y", "What the mask selects is used in the head of a branch or a loop."),
    ("for k in y:\n    n = n + k\na = [x[k].sum() for k in y]\nreturn a",
     "`k` has no name, and may not be computed where its line begins."),
    ("a = x[m]; b = a.sum()\nreturn b", "Another statement stands in the line of the selection."),
    ("a = torch.arange(4).masked_select(m)\nreturn a", "`a` is used as it is, and its size depends on the data."),
    ("return x[m]", "`x[m]` is used as it is, and its size depends on the data."),
    ("return x[m].sum() / max(x[m].numel(), 1)", "`x[m]` is used as it is, and its size depends on the data."),
    ("return len(x[m])", "`x[m]` is used as it is, and its size depends on the data."),
    ("return y(x[m])(n)", "`y(x[m])(n)` calls what the mask selects."),
    ("a = x[m > 1]\nm = m + 1\nreturn a.sum()", "Line 8 reads `a` too."),
    ("return torch.where(y, x[m], 1).sum()", "`torch.where(y, x[m], 1)` is used as it is, and its size depends on the data."),
    ("x = torch.zeros(4, 3)\ny = torch.zeros(4, 3)\nm = torch.zeros(4) > 0\nreturn (x[m] - y).sum()",
     "`y` is not selected by the mask, and not shown to be one number."),
    ("y[m] = x\nreturn x[m].sum()", "`y[m]` is written where the mask selects."),
    ("return (x[m] * y).sum()", "`y` is not selected by the mask, and not shown to be one number."),
    ("return F.mse_loss(x[m], y[m], reduction='none')",
     "`F.mse_loss(x[m], y[m], reduction='none')` has a value for each that is selected."),
    ("return F.mse_loss(x[m], y[m], weight=x[m])", "`F.mse_loss(x[m], y[m], weight=x[m])` has options that are selected."),
    ("return F.mse_loss(x[m], y[m], weight=y)", "`F.mse_loss(x[m], y[m], weight=y)` has weights, which are not selected."),
    ("x = torch.zeros(4)\ny = torch.zeros(4, 4)\nreturn x[m].sum() + y[m].sum()",
     "The mask selects from tensors of different shapes."),
    ("return F.cross_entropy(x[m] * 2, y[m])", "`F.cross_entropy(x[m] * 2, y[m])` is not given what the mask selects as it is."),
    ("a = x[m]\na += 1\nreturn a.sum()", "`a` is changed in place."),
    ("return F.mse_loss(x[m], y[m], reduce=False)", "`F.mse_loss(x[m], y[m], reduce=False)` has a value for each that is selected."),
    ("return F.mse_loss(x[m], y[m], size_average=n)", "`F.mse_loss(x[m], y[m], size_average=n)` has a value for each that is selected."),
    ("k = m > 0\na = x[k]\nk = k[:1]\nreturn a.sum()", "Line 9 reads `a` too."),
    ("a = x[m]\nassert a.sum() > 1", "Line 7 does more with what the mask selects."),
    ("a = x[m]\nreturn y[a]", "`y[a]` is used as it is, and its size depends on the data."),
    ("while len(x) > 1:\n    n = n + 1\n    x = x[m]\nreturn n", "Line 6 reads `x` in the next round."),
    ("a = x[m]\nif n > 1:\n    return a", "Line 8 reads `a` too."),
)  # fmt: skip


def plan(body: str, make: Any) -> tuple[str, FixPlan | Refusal]:
    source = HEAD + "".join(f"    {line}\n" for line in body.splitlines())
    is_call = "masked_select" in body
    place = (cst.Call, "masked_select") if is_call else (cst.Subscript, "[k" if "[k]" in body else "[m")
    case = make(source, *place, UNKNOWN)
    return source, first_fit(case.hit, case.editor, reduce_selected)


CLASS = """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.crit = {made}

    def forward(self, x, y, m):
        return self.crit(x[m], y[m])
"""
SELECTED = "torch.where(keep, x, 1), torch.where(keep, y, 1)"

#: What makes the layer of a loss, and the function with its options, or why it stays.
LAYERS = (
    ("nn.MSELoss()", f'mse_loss({SELECTED}, reduction="none"), 0).sum() / keep.sum()'),
    ("nn.L1Loss(reduction='sum')", f'l1_loss({SELECTED}, reduction="none"), 0).sum()'),
    ("nn.HuberLoss(delta=0.5)",
     f'huber_loss({SELECTED}, delta=self.crit.delta, reduction="none"), 0).sum() / keep.sum()'),
    ("nn.BCEWithLogitsLoss(pos_weight=torch.ones(1))",
     f'binary_cross_entropy_with_logits({SELECTED}, pos_weight=self.crit.pos_weight, reduction="none"), 0).sum()'
     " / keep.sum()"),
    ("nn.SmoothL1Loss(reduction='none')", "`nn.SmoothL1Loss(reduction='none')` has a value for each that is selected."),
    ("nn.BCELoss(weight=torch.ones(1))", "`nn.BCELoss(weight=torch.ones(1))` has options that are not read here."),
    ("nn.HuberLoss('sum')", "The options of `self.crit` are not known here."),
)  # fmt: skip


@pytest.mark.parametrize("row", LAYERS, ids=lambda row: row[0])
def test_layers_of_losses(row: tuple[str, str], make: Any, runner: Any) -> None:
    """Also with NaN and infinity where the mask is false, a mask that selects nothing, and gradients."""
    case = make(CLASS.format(made=row[0]), cst.Subscript, "[m")
    found = first_fit(case.hit, case.editor, reduce_selected)
    if isinstance(found, Refusal):
        assert found.reason == row[1]
        return
    fixed = apply(case.source, found.edits)
    assert f"return torch.where(keep, torch.nn.functional.{row[1]}\n" in fixed
    nets = [runner.load(text).Net() for text in (case.source, fixed)]
    for value in (0.5, float("nan"), float("inf")):
        for mask in (torch.tensor([True, False, True]), torch.zeros(3, dtype=torch.bool)):
            inputs = [torch.tensor([[0.1, 0.4], [value, value], [0.9, 0.3]], requires_grad=True) for _ in nets]
            outputs = [net(x, torch.full((3, 2), 0.25), mask) for net, x in zip(nets, inputs, strict=True)]
            torch.testing.assert_close(outputs[1], outputs[0], equal_nan=True)
            if mask.any():
                grads = [torch.autograd.grad(out, x)[0] for out, x in zip(outputs, inputs, strict=True)]
                torch.testing.assert_close(grads[1], grads[0])


@pytest.mark.parametrize("row", FIXED, ids=lambda row: row[0])
def test_fix(row: tuple[str, str], make: Any, runner: Any) -> None:
    source, found = plan(row[0], make)
    assert isinstance(found, FixPlan), found
    fixed = apply(source, found.edits)
    assert fixed == HEAD + row[1]
    is_mask, has_classes = "m > 1" not in row[0], "CrossEntropy" in row[0] or "cross_entropy" in row[0]
    assert found.reason.endswith(
        "the label that the loss ignores." if has_classes else "sums and means leave them out."
    )
    x, y = torch.rand(4, 2) + 1, torch.tensor([1, 0, 1, 1]) if has_classes else torch.ones(4, 2)
    m = torch.tensor([True, False, True, True]) if is_mask else torch.tensor([2, 0, 2, 2])
    expected, actual = (runner.load(text).f(x, y, m) for text in (source, fixed))
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row[0])
def test_refusal(row: tuple[str, str], make: Any) -> None:
    _, found = plan(row[0], make)
    assert isinstance(found, Refusal)
    assert found.reason == row[1]


EMPTY = """\
import torch


def f(x, m):
    chosen = x[m]
    total, n = (chosen.log() * 2).sum(), m.sum()
    if chosen.nelement() == 0:
        loss = x.sum()
    else:
        loss = x.sum() - total / n
    return loss


def graphdoctor_target():
    return f, (torch.rand(4, 8) + 0.1, torch.rand(4, 8) > 0.5)
"""


def test_how_many_are_selected_is_counted_by_the_mask(fixed: Any, runner: Any) -> None:
    after = fixed(EMPTY, unsafe=True)
    assert "condition = m.sum() == 0\n" in after.text
    x = torch.rand(4, 8) + 0.1
    for m in (torch.rand(4, 8) > 0.5, torch.zeros(4, 8, dtype=torch.bool), torch.ones(4, 8, dtype=torch.bool)):
        expected = runner.eager(EMPTY, x, m)
        found = runner.compiled(after.text, x, m, fullgraph=True)
        assert found.graphs == 1
        torch.testing.assert_close(found.value, expected)
