"""What builtin functions give back for tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch


def f(x: torch.Tensor, n: int = 2):
    y = {}
    if {}:
        return x + 1
    return x * 2


def graphdoctor_target():
    return f, (torch.rand(3),)
"""


@pytest.mark.parametrize(
    ("value", "test", "breaks"),
    [
        ("pow(0.9, x)", "y.sum() > 1", True),
        ("pow(n, x)", "y.sum() > 1", True),
        ("pow(n, x.shape[0])", "y > 1", False),
        ("pow(0.9, x)", "y.dim() > 1", False),
    ],
)
def test_a_number_to_the_power_of_a_tensor_is_a_tensor(tmp_path: Path, value: str, test: str, breaks: bool) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch._dynamo")
    source = SOURCE.format(value, test)
    file = tmp_path / "model.py"
    file.write_text(source)
    found = {f.rule for f in analyse([(file, file.name)]).findings} - {"GD405"}
    assert found == ({"GD201"} if breaks else set())
    same = source.replace("pow(0.9, x)", "0.9**x").replace("pow(n, x)", "n**x")
    names: dict[str, Any] = {"__name__": "source"}
    exec(same, names)
    assert (torch._dynamo.explain(names["f"])(torch.rand(3)).graph_break_count > 0) is breaks
