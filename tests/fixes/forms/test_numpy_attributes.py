"""A numpy scalar that a constructor stores becomes a Python number there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.forms.numpy_attributes import number_in_constructor
from graphdoctor.lint import engine
from graphdoctor.static.domain.values import UNKNOWN

SOURCE = """\
import math

import numpy as np
import torch


class Net(torch.nn.Module):
    def __init__(self, rates=(2, 2), given=None):
        super().__init__()
        self.hop = {stored}

    def forward(self, x):
        frames = math.ceil(x.shape[-1] / self.hop)
        return x[..., :frames]{more}
"""


@pytest.mark.parametrize(
    ("stored", "number"),
    [
        ("np.prod(rates)", "np.prod(rates).item()"),
        ("np.prod(rates) * 3", "(np.prod(rates) * 3).item()"),
        ("np.int64(4)", "int(np.int64(4))"),
        ("np.float32(2.5)", "float(np.float32(2.5))"),
    ],
)
def test_the_number_is_made_one_of_python_where_it_is_stored(
    tmp_path: Path, runner: Any, stored: str, number: str
) -> None:
    import torch

    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(stored=stored, more=""))
    (found,) = engine.analyse([(file, "net.py")]).findings
    assert (found.rule, found.location.line) == ("GD213", 13)
    assert found.fix is not None and [edit.text for edit in found.fix.edits] == [number]
    before, after = (SOURCE.format(stored=text, more="") for text in (stored, number))
    x = torch.ones(3, 17)
    ending = "\n\nf = Net()\n"
    assert runner.compiled(before + ending, x).breaks > 0
    result = runner.compiled(after + ending, x, fullgraph=True)
    assert (result.breaks, result.graphs) == (0, 1)
    assert torch.equal(result.value, runner.eager(before + ending, x))


def test_the_attribute_is_found_behind_names(tmp_path: Path, runner: Any) -> None:
    import torch

    named = "whole = 2 * self.hop\n        frames = math.ceil(x.shape[-1] / whole) * whole - x.shape[-1]"
    source = SOURCE.replace("frames = math.ceil(x.shape[-1] / self.hop)", named)
    before, after = (source.format(stored=text, more="") for text in ("np.prod(rates)", "np.prod(rates).item()"))
    file = tmp_path / "net.py"
    file.write_text(before)
    found = engine.analyse([(file, "net.py")]).findings
    edits = {edit.text for each in found if each.fix is not None for edit in each.fix.edits}
    assert found and edits == {"np.prod(rates).item()"}
    x, ending = torch.ones(3, 17), "\n\nf = Net()\n"
    result = runner.compiled(after + ending, x, fullgraph=True)
    assert (result.breaks, result.graphs) == (0, 1)
    assert torch.equal(result.value, runner.eager(before + ending, x))


SET_TWICE = "`hop` is not shown to be set once, by the constructor."


@pytest.mark.parametrize(
    ("stored", "more", "reason"),
    [
        ("np.prod(rates)\n        self.hop = np.prod(rates)", "", SET_TWICE),
        ("np.prod(rates)\n        self.hop, rates = np.prod(rates), 1", "", SET_TWICE),
        ("np.prod(rates)", " * self.hop.astype(float)", "`hop` is also used where only a numpy number works."),
        ("8", "", "No attribute that holds a numpy scalar is read here."),
    ],
)
def test_an_attribute_that_may_be_something_else_stays(
    refusal: Callable[..., str], stored: str, more: str, reason: str
) -> None:
    source = SOURCE.format(stored=stored, more=more)
    assert refusal(number_in_constructor, source, (cst.Call, "math.ceil"), UNKNOWN) == reason


def test_what_the_constructor_is_given_may_be_a_python_number(refusal: Callable[..., str]) -> None:
    source = (
        SOURCE.format(stored="given", more="")
        + "\n\nnet = torch.compile(Net(given=np.prod((2, 2))))\nnet(torch.ones(8))\n"
    )
    reason = "`hop` is an argument of the constructor."
    assert refusal(number_in_constructor, source, (cst.Call, "math.ceil"), UNKNOWN) == reason
