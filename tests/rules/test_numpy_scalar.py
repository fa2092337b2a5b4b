"""What to do about numpy values that become Python objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


COMPUTED = """\
import numpy as np
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        scale = np.prod([2, 2])
        self.width = 32 // scale
        self.sizes = [[self.width, 8 * scale]]

    def forward(self, x):
        return {value}


def graphdoctor_target():
    return Net(), (torch.ones(8, 64),)
"""


@pytest.mark.parametrize(
    ("value", "breaks"),
    [
        ("x.reshape(-1, self.width)", False),
        ("nn.functional.pad(x, (0, self.sizes[0][0]))", False),
        ("x[:, : self.width] + torch.zeros(self.width)", False),
        ("x.reshape(-1, 2, self.width, self.sizes[0][1])", False),
        ("x * int(self.width)", False),
        ("nn.functional.interpolate(x[None], size=tuple(self.sizes[0][:1]), mode='linear')", False),
        ("nn.functional.interpolate(x[None], None, self.sizes[0][0])", True),
        ("x.reshape(-1, self.width * 1)", True),
    ],
)
def test_a_scalar_that_the_constructor_computes_is_a_size(tmp_path: Path, value: str, breaks: bool) -> None:
    torch = pytest.importorskip("torch")
    file = tmp_path / "net.py"
    file.write_text(COMPUTED.format(value=value))
    assert [f.rule for f in analyse([(file, "net.py")]).findings] == ["GD213"] * breaks
    names: dict[str, Any] = {}
    exec(file.read_text(), names)
    net, args = names["graphdoctor_target"]()
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch.compile(net, backend="eager")(*args)
    assert bool(torch._dynamo.utils.counters["graph_break"]) is breaks
