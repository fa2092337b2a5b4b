"""Which comparisons of a size compile again."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x, raises=True):
        if x.shape[1] != 3:
            {arm}
        return x * 2


net = torch.compile(Net(), dynamic=True)
"""


@pytest.mark.parametrize(
    ("arm", "found"),
    [
        ("raise ValueError('three channels')", []),
        ("if raises:\n                raise ValueError\n            else:\n                return x", []),
        ("if raises:\n                x = x + 1", ["GD703"]),
        ("return x", ["GD703"]),
    ],
)
def test_a_check_of_a_size_is_no_branch(tmp_path: Path, arm: str, found: list[str]) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(arm=arm))
    assert [f.rule for f in analyse([(file, "net.py")]).findings] == found
