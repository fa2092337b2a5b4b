"""Masks that only their use or their name tells from indices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch


@torch.compile(backend="eager")
def f(x, {parameter}):
    {statement}
    return x * 2
"""


@pytest.mark.parametrize(
    ("parameter", "statement"),
    [
        ("mask", "x = x[mask]"),
        ("mask: torch.Tensor", "x = x[mask]"),
        ("mask: torch.Tensor | None = None", "x = x[mask] if mask is not None else x"),
        ("padding_mask=None", "x = x if padding_mask is None else x[padding_mask]"),
        ("padding=None", "x = x if padding is None else x[~padding]"),
        ("keep=None", "x = x if keep is None else x[keep.bool()]"),
        ("mask", "x = x[mask] + mask.shape[0]"),
    ],
)
def test_an_argument_that_is_a_mask(
    tmp_path: Path, splits: Callable[..., bool], parameter: str, statement: str
) -> None:
    torch = pytest.importorskip("torch")
    source = SOURCE.format(parameter=parameter, statement=statement)
    file = tmp_path / "model.py"
    file.write_text(source)
    found = analyse([(file, "model.py")]).findings
    assert [(f.rule, f.location.line, f.confidence) for f in found] == [("GD302", 6, "likely")]
    assert splits(source, "f", torch.rand(4), torch.tensor([True, False, True, True]))


@pytest.mark.parametrize(
    "statement",
    [
        "x = x[index]",
        "index = index + 1; x = x[index]",
        "x = x[:, index]",
        "last_mask = index.sum(-1) - 1; x = x[torch.arange(4), last_mask]",
    ],
)
def test_an_argument_that_may_be_an_index(tmp_path: Path, statement: str) -> None:
    file = tmp_path / "model.py"
    file.write_text(SOURCE.format(parameter="index", statement=statement))
    assert not analyse([(file, "model.py")]).findings


def test_where_nothing_fits_the_reason_is_why_not_even_the_setting_does(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    counted = "kept = x[x > 0]\n    if kept.numel() > 2:\n        x = x / kept.std()"
    file.write_text(SOURCE.format(parameter="y=None", statement=counted))
    (fix,) = [f.fix for f in analyse([(file, "model.py")]).findings if f.rule == "GD302"]
    assert fix is not None
    assert fix.reason == "The value decides a branch, which breaks even when it is recorded."
