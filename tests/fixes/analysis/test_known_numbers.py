"""Recording a number is not offered where compiling would raise, and is where it would not."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.python.capture import capture_numbers
from graphdoctor.static.domain.values import UNKNOWN

SETTING = "capture_scalar_outputs"
SOURCE = """\
import random

import torch

FACTORS = [1, 2, 3]
layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))


@torch.compile
def f(x: torch.Tensor, i: torch.Tensor):
    n = i.max().item()
    {}
"""
RAISE = [
    "return x * FACTORS[n]",
    "return [x, x + 1, x + 2][n]",
    "for k in i.tolist():\n        x = x * FACTORS[k]\n    return x",
    "return x * range(5)[n]",
    "return x * x.shape[n - 1]",
    "return x[0, n]",
    "return x[n, 0]",
    "y = x.clone()\n    y[:, n] = 0\n    return y",
    "return x * random.Random(n).random()",
    "items = [1, 2, 3]\n    return x * items.pop(n)",
]
TRACED = [
    "return x[n]",
    "return x[:n, :n].sum()",
    "return x[0][n]",
    "return layers[n](x)",
    "return x * {0: 1, 1: 2, 2: 3}[n]",
    "return x * len(FACTORS[:n])",
    "return torch.zeros(n) + x.sum()",
]


def _run(source: str) -> None:
    import torch

    names: dict[str, Any] = {}
    exec(source.replace("@torch.compile", "@torch.compile(backend='eager')"), names)
    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        names["f"](torch.ones(4, 4), torch.tensor([0, 1, 2]))


@pytest.mark.parametrize("use", RAISE)
def test_no_setting_is_offered_with_which_compiling_raises(fixed: Any, use: str) -> None:
    source = SOURCE.format(use)
    with pytest.raises(Exception, match=r"Could not extract|is not a constant|only integers"):
        _run(source)
    assert SETTING not in fixed(source, unsafe=True).text


@pytest.mark.parametrize("use", TRACED)
def test_the_setting_is_offered_where_the_number_stays_a_symbol(fixed: Any, use: str) -> None:
    source = SOURCE.format(use)
    _run(source)
    assert SETTING in fixed(source, unsafe=True).text


def test_the_refusal_names_the_code_that_has_to_know_the_number(refusal: Any) -> None:
    reason = refusal(capture_numbers, SOURCE.format("return x[0, n]"), (cst.Call, "item"), UNKNOWN)
    assert reason == "With `capture_scalar_outputs` compiling raises: `x[0, n]` has to know its number."
