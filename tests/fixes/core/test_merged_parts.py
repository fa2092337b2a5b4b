"""One rewrite that changes a part of what it also replaces: both are made, and the code computes the same."""

from __future__ import annotations

from typing import Any

import pytest

from graphdoctor.fixes.core.merged_parts import merged
from graphdoctor.model.findings import Edit

PROTOTYPES = """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, z, labels):
        idx = torch.where(labels == 1)[0]
        if len(idx) == 0:
            p = torch.zeros(z.size(1), device=z.device)
        else:
            p = z[idx].mean(dim=0)
        return z - p


f = Net()


def graphdoctor_target():
    return f, (torch.rand(4, 3), torch.tensor([0, 1, 1, 0]))
"""

GAIN = """\
import math

import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, z, labels):
        gain = z.max().item()
        if gain > 2.0:
            z = z / math.log10(gain)
        return z


f = Net()
"""


@pytest.mark.parametrize("source", [PROTOTYPES, GAIN], ids=["selected", "number"])
@pytest.mark.parametrize("labels", [[0, 1, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]], ids=str)
def test_a_side_that_uses_what_decided_is_written_with_it(
    source: str, labels: list[int], fixed: Any, runner: Any
) -> None:
    import torch

    after = fixed(source, unsafe=True).text
    assert after.count("torch.where") >= 1 and "if " not in after
    assert all(len(line) <= 120 for line in after.splitlines())
    x, y = torch.arange(12.0).reshape(4, 3), torch.tensor(labels)
    expected = runner.eager(source, x.clone(), y)
    torch.testing.assert_close(runner.eager(after, x.clone(), y), expected)
    result = runner.compiled(after, x.clone(), y)
    torch.testing.assert_close(result.value, expected)
    assert not result.breaks


def _edit(text: str, line: int, part: str, instead: str) -> Edit:
    row = text.splitlines()[line - 1]
    start = row.index(part) + 1
    return Edit("model.py", (line, start), (line, start + len(part)), instead)


def test_what_cannot_be_found_again_is_not_merged(make: Any) -> None:
    text = "def f(a, b):\n    c = a * b + g(b)\n    return c\n"
    editor = make(text).editor
    whole = "c = a * b + g(b)"
    inner = _edit(text, 2, "g(b)", "h(b)")
    (kept,) = merged((_edit(text, 2, whole, "c = k(a * b + g(b))"), inner), editor)
    assert kept.text == "c = k(a * b + h(b))"
    with pytest.raises(ValueError, match="does not have the code"):
        merged((_edit(text, 2, whole, "c = k(a)"), inner), editor)
    # A product stands for one only where no operator binds tighter.
    product = _edit(text, 2, "a * b", "a + b")
    with pytest.raises(ValueError, match="does not have the code"):
        merged((_edit(text, 2, whole, "c = 2 ** a * b"), product), editor)
    with pytest.raises(ValueError, match="none holds the other"):
        merged((_edit(text, 2, "c = a * b", "c = a"), _edit(text, 2, "a * b + g(b)", "b")), editor)
    unparsable = _edit(text, 2, whole, "c = (g(b)")
    with pytest.raises(ValueError, match="do not fit together"):
        merged((unparsable, inner), editor)
