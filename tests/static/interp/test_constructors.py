"""What functions of other files give the constructors of modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

MASKS = """\
import torch


class Split:
    def __init__(self, count):
        self.mask = torch.arange(count) < count // 2


def half(count):
    return torch.arange(count) < count // 2


def first(count):
    return torch.arange(count // 2)


def split(count):
    return Split(count)
"""
NET = """\
from torch import nn

{imported}


class Net(nn.Module):
    def __init__(self, count=4):
        super().__init__()
        {statement}

    def forward(self, x):
        return x[..., {index}] * 2
"""


@pytest.mark.parametrize(
    ("imported", "statement", "index", "found"),
    [
        ("from masks import half", "self.mask = half(count)", "self.mask", ["GD302"]),
        ("import masks", "self.mask = masks.half(count)", "self.mask", ["GD302"]),
        ("from masks import half", "self.register_buffer('mask', half(count))", "self.mask", ["GD302"]),
        ("from masks import split", "self.split = split(count)", "self.split.mask", ["GD302"]),
        ("from masks import first", "self.mask = first(count)", "self.mask", []),
    ],
)
def test_a_mask_that_another_file_makes_is_one(
    tmp_path: Path, imported: str, statement: str, index: str, found: list[str]
) -> None:
    (tmp_path / "masks.py").write_text(MASKS)
    file = tmp_path / "net.py"
    file.write_text(NET.format(imported=imported, statement=statement, index=index))
    assert [f.rule for f in analyse([(file, "net.py")]).findings] == found
