"""Functions of torch take tensors: what is known of the argument does not matter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        y = {}
        return y.sum()


net = Net(torch.exp)
"""


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("torch.masked_select(self.inner(x), x > 0)", "GD303"),
        ("torch.unique(self.inner(x))", "GD303"),
        ("torch.nonzero(self.inner(x))", "GD301"),
        ("torch.argwhere(self.inner(x))", "GD301"),
        ("torch.relu(self.inner(x))", ""),
    ],
)
def test_the_result_of_an_unknown_callable(tmp_path: Path, splits: Callable[..., bool], value: str, code: str) -> None:
    torch = pytest.importorskip("torch")
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(value))
    assert [finding.rule for finding in analyse([(file, "net.py")]).findings] == ([code] if code else [])
    assert splits(file.read_text(), "net", torch.rand(4)) == bool(code)


@pytest.mark.parametrize(
    ("value", "breaks"),
    [
        ("len(np.unique([x.shape[0], 4]))", True),
        ("np.bincount([1, 2]).sum()", True),
        ("np.sort([x.shape[0], 4]).sum()", False),
        ("len(set([x.shape[0], 4]))", False),
    ],
)
def test_numpy_makes_a_tensor_of_a_list(tmp_path: Path, splits: Callable[..., bool], value: str, breaks: bool) -> None:
    torch = pytest.importorskip("torch")
    file = tmp_path / "net.py"
    file.write_text(f"import numpy as np\nimport torch\n\n\n@torch.compile\ndef net(x):\n    return x * {value}\n")
    assert [finding.rule for finding in analyse([(file, "net.py")]).findings] == ["GD303"] * breaks
    torch._dynamo.reset()
    assert splits(file.read_text().replace("@torch.compile\n", ""), "net", torch.rand(4)) is breaks
