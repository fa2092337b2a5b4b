"""Attributes whose names are put together from text."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, count, kinds):
        super().__init__()
        self.count = count
        for i in range(count):
            {store}

    def forward(self, x):
        for i in range(self.count):
            {use}
        return x
"""
MASK = "torch.arange(8) < i"


@pytest.mark.parametrize(
    ("store", "use", "found"),
    [
        (f'setattr(self, f"mask_{{i}}", {MASK})', 'x = x + x[getattr(self, f"mask_{i}")].sum()', ["GD302"]),
        (f'setattr(self, "mask_%d" % i, {MASK})', 'x = x + x[getattr(self, "mask_%d" % i)].sum()', ["GD302"]),
        (
            f'self.register_buffer("mask_{{}}".format(i), {MASK})',
            'x = x + x[getattr(self, f"mask_{i}")].sum()',
            ["GD302"],
        ),
        (f'self.__setattr__(f"{{kinds}}_mask", {MASK})', "x = x + x[self.left_mask].sum()", ["GD302"]),
        ('self.add_module(f"rnn{i}", nn.LSTM(8, 8))', 'x = getattr(self, f"rnn{i}")(x)[0]', ["GD502"]),
        ('setattr(self, f"linear_{i}", nn.Linear(8, 8))', 'x = getattr(self, f"linear_{i}")(x)', []),
        (f'setattr(self, f"mask_{{i}}", {MASK})', 'x = x + x[getattr(self, f"index_{i}")].sum()', []),
        (f"setattr(self, kinds[i], {MASK})", "x = x + x[self.left].sum()", []),
        ('setattr(self, f"use_{i}", True)', "x = x + 1 if self.use_3 else x", []),
    ],
)
def test_what_is_stored_under_a_name_is_read_under_one_that_fits(
    tmp_path: Path, store: str, use: str, found: list[str]
) -> None:
    file = tmp_path / "net.py"
    file.write_text(NET.format(store=store, use=use))
    assert [f.rule for f in analyse([(file, "net.py")]).findings] == found
