"""A span that a tensor bounds is filled by comparing positions."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest
import torch

from graphdoctor.fixes.forms.filled_spans import fill_span
from graphdoctor.static.domain.values import UNKNOWN

HEAD = "import torch\n\n\ndef f(x: torch.Tensor, n: torch.LongTensor):\n    mask = torch.zeros(3, 5)\n"
TAIL = "    return x * mask\n\n\ndef graphdoctor_target():\n    return f, (torch.rand(3, 5), torch.tensor([2, 5, 0]))\n"
POSITIONS = "torch.arange(mask.shape[1], device=mask.device)"


@pytest.mark.parametrize(
    ("line", "written"),
    [
        (
            "for i, k in enumerate(n):\n        mask[i, :k] = 1",
            f"for i, k in enumerate(n):\n        mask[i].masked_fill_({POSITIONS} < k + mask.shape[1] * (k < 0), 1)",
        ),
        (
            "for i in range(3):\n        mask[i, n[i] :] = 0.5",
            f"for i in range(3):\n        mask[i].masked_fill_({POSITIONS} >= n[i] + mask.shape[1] * (n[i] < 0), 0.5)",
        ),
        (
            "for i in range(3):\n        mask[i, : n[i].item()] = 1",
            f"for i in range(3):\n        mask[i].masked_fill_({POSITIONS} < n[i] + mask.shape[1] * (n[i] < 0), 1)",
        ),
        # What `int` cuts off would count where positions are compared.
        (
            "for i in range(3):\n        mask[i, : int(n[i] * 0.7)] = 1",
            f"for i in range(3):\n        mask[i].masked_fill_({POSITIONS} < CUT + mask.shape[1] * (CUT < 0), 1)",
        ),
        ("mask[:, int(n[0]) :] = 2", f"mask.masked_fill_({POSITIONS} >= n[0] + mask.shape[1] * (n[0] < 0), 2)"),
        ("mask[:, n[0] :] = 2", f"mask.masked_fill_({POSITIONS} >= n[0] + mask.shape[1] * (n[0] < 0), 2)"),
        (
            "mask[: n[0], 1] = True",
            "mask[:, 1].masked_fill_(torch.arange(mask.shape[0], device=mask.device)"
            " < n[0] + mask.shape[0] * (n[0] < 0), True)",
        ),
        (
            "mask[1, : n[0] - 1] = 3",
            f"mask[1].masked_fill_({POSITIONS} < (n[0] - 1) + mask.shape[1] * ((n[0] - 1) < 0), 3)",
        ),
    ],
)
def test_positions_are_compared_with_the_bound(fixed: Any, runner: Any, line: str, written: str) -> None:
    source = f"{HEAD}    {line}\n{TAIL}"
    after = fixed(source, unsafe=True).text
    assert after == f"{HEAD}    {written.replace('CUT', '(n[i] * 0.7).long()')}\n{TAIL}"
    x = torch.rand(3, 5)
    for lengths in ((2, 5, 0), (-1, -5, 9), (-9, 3, 1)):
        given = x, torch.tensor(lengths)
        found = runner.compiled(after, *given, fullgraph=True)
        assert found.graphs == 1
        torch.testing.assert_close(found.value, runner.eager(source, *given))


@pytest.mark.parametrize(
    ("made", "line", "written"),
    [
        (
            "out = torch.zeros(3, 5)",
            "out[i, :k] = x[i, :k]",
            "out[i].copy_(torch.where(POSITIONS < k + out.shape[1] * (k < 0), x[i], out[i]))",
        ),
        (
            "out = torch.zeros(3, 5)",
            "out[i, -k:] = x[2 - i, -k:]",
            "out[i].copy_(torch.where(POSITIONS >= (-k) + out.shape[1] * ((-k) < 0), x[2 - i], out[i]))",
        ),
        (
            "out, y = torch.zeros(3, 5, 2), torch.stack([x, -x], 2)",
            "out[i, :k] = y[i, :k]",
            "out[i].copy_(torch.where((POSITIONS < k + out.shape[1] * (k < 0))[:, None], y[i], out[i]))",
        ),
        (
            "out = torch.zeros(3, 5, 2)",
            "out[i, k:] = 4",
            "out[i].masked_fill_((POSITIONS >= k + out.shape[1] * (k < 0))[:, None], 4)",
        ),
    ],
)
def test_a_span_is_copied_position_by_position(fixed: Any, runner: Any, made: str, line: str, written: str) -> None:
    head = f"import torch\n\n\ndef f(x: torch.Tensor, n: torch.LongTensor):\n    {made}\n    for i, k in enumerate(n):\n        "
    tail = "\n    return out * 2" + TAIL.partition("mask")[2]
    after = fixed(head + line + tail, unsafe=True).text
    positions = "torch.arange(out.shape[1], device=out.device)"
    assert after == head + written.replace("POSITIONS", positions) + tail
    for lengths in ((2, 5, 0), (-1, -5, 9), (-9, 3, 1)):
        given = torch.rand(3, 5), torch.tensor(lengths)
        found = runner.compiled(after, *given, fullgraph=True)
        assert found.graphs == 1
        torch.testing.assert_close(found.value, runner.eager(head + line + tail, *given))


TWO = "The slice has more than one bound, or is assigned with others."


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("z = mask[:y.k]", "The slice is not written to."),
        ("mask[:y.k] += 1", "The slice is not written to."),
        ("mask[1:y.k] = 1", TWO),
        ("mask[:y.k:2] = 1", TWO),
        ("mask[:y.k] = z = 1", TWO),
        ("other[:y.k] = 1", "How many dimensions `other` has is not known."),
        ("mask[0, :y.k] = 1", "How many dimensions `mask` has is not known."),
        ("mask[0] = table[0, :y.k]", "The slice is not written to."),
        ("table[0, :y.k] = table[1, :y.k]", "What is written is not shown to be a number."),
        ("table[0, :y.k] = whole[:y.k]", "What is written is not shown to be a number."),
        ("table[0, :y.k] = whole[other, :y.k]", "What is written is not shown to be a number."),
        ("table[0, :y.k] = whole[1, y.k:]", "What is written is not shown to be a number."),
        ("made()[:y.k] = 1", "How many dimensions `made()` has is not known."),
        ("table[:y.k, :] = 1", "Another slice stands in the index."),
        ("table[:2, :y.k] = 1", "Another slice stands in the index."),
        ("table[other, :y.k] = 1", "`other` is not shown to be a Python number."),
        ("mask[:y.k.sum()] = 1", "`y.k.sum()` calls a function, which would be called twice."),
        ("mask[:y.k] = other", "What is written is not shown to be a number."),
        ("whole[:y.k] = 0.5", "`whole` is not shown to hold floats."),
    ],
)
def test_other_writes_stay(refusal: Any, line: str, reason: str) -> None:
    made = "mask, table = torch.zeros(5), torch.zeros(3, 5)\nwhole, other = torch.arange(5), open()\n"
    place = (cst.Call, "k.sum()") if "k.sum()" in line else (cst.Attribute, "y.k")
    assert refusal(fill_span, made + line, place, UNKNOWN) == reason
