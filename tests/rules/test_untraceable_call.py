"""Calls into packages that need not be installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

NET = """\
import cupy
import PIL
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        {line}
        return x * 2
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("new = PIL.__version__.split('.')[0] >= '9'", []),
        ("image = PIL.Image.fromarray(x)", ["GD405"]),
        ("image = cupy.asarray(x)", ["GD405"]),
    ],
)
def test_the_version_of_a_package_is_plain_text(tmp_path: Path, line: str, found: list[str]) -> None:
    file = tmp_path / "net.py"
    file.write_text(NET.format(line=line))
    assert [finding.rule for finding in analyse([(file, file.name)]).findings] == found
