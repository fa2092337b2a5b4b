"""Attributes that change with each call."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

NET = """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = 1
        self.flags = 2

    def forward(self, x):
        self.seen {operator} self.flags
        return x * self.seen
"""


@pytest.mark.parametrize(("operator", "rules"), [("+=", ["GD701"]), ("|=", []), ("&=", [])])
def test_what_gives_the_same_again_is_no_counter(tmp_path: Path, operator: str, rules: list[str]) -> None:
    file = tmp_path / "net.py"
    file.write_text(NET.format(operator=operator))
    assert [finding.rule for finding in analyse([(file, "net.py")]).findings] == rules
