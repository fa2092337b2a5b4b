"""What is said of a value that is computed for all elements in place of those that a mask selects."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch


@torch.compile
def f(x: torch.Tensor):
    out = torch.zeros_like(x)
    m = x > 0
    out[m] = {}
    return out
"""


@pytest.mark.parametrize(
    ("value", "named"),
    [("x[m].sqrt()", "sqrt"), ("1 / x[m]", "division"), ("x[m] ** 0.4", "power"), ("x[m] ** 2", ""), ("x[m] * 2", "")],
)
def test_what_may_make_gradients_nan_is_named(tmp_path: Path, value: str, named: str) -> None:
    file = tmp_path / "model.py"
    file.write_text(SOURCE.format(value))
    (finding,) = analyse([(file, "model.py")]).findings
    assert finding.fix is not None
    said = f" `{named}` outside the mask can make gradients NaN." if named else ""
    assert finding.fix.reason == f"The value is computed for all elements and kept where the mask is true.{said}"
