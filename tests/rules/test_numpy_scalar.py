"""What to do about numpy values that become Python objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import numpy as np
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x * {value}
"""


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        ("len(x.numpy().tolist())", "keep the values a tensor"),
        ("len(x.numpy().tobytes())", "keep the values a tensor"),
        ("np.prod(x.shape).item()", "compute a size with Python's `math`"),
    ],
)
def test_a_list_of_values_is_no_size(tmp_path: Path, value: str, advice: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(value=value))
    (found,) = [each for each in analyse([(file, "net.py")]).findings if each.rule == "GD213"]
    assert found.suggestion.startswith(advice)
