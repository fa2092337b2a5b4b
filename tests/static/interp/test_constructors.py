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


FILTERS = """\
import torch


class Filters:
    def __init__(self, taps):
        self.taps = self.checked(taps)
        self.count = self.listed(taps)

    def checked(self, taps) -> torch.Tensor:
        return torch.as_tensor(taps)

    def listed(self, taps):
        return torch.as_tensor(taps)
"""


@pytest.mark.parametrize(
    ("kept", "found"),
    [pytest.param("taps", ["GD201"], id="declared"), pytest.param("count", [], id="not-declared")],
)
def test_what_a_method_of_another_file_is_declared_to_give_is_kept(tmp_path, kept, found):
    (tmp_path / "filters.py").write_text(FILTERS)
    file = tmp_path / "net.py"
    statement = f"self.mask = Filters(count).{kept}"
    source = NET.format(imported="from filters import Filters", statement=statement, index="0")
    file.write_text(source.replace("return x", "return x if self.mask[0] > 0 else x"))
    assert [f.rule for f in analyse([(file, "net.py")]).findings] == found
