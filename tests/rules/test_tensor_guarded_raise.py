"""What is advised where an exception is raised under a condition on tensor data."""

from __future__ import annotations

from pathlib import Path

from graphdoctor.lint.engine import analyse

SEVERAL = """\
import torch


@torch.compile
def f(x: torch.Tensor, low: torch.Tensor):
    if low > 0 and x.min() < low.item():
        raise ValueError(f"{x.min()} is less than {low}")
    return x.log()
"""


def test_each_of_several_conditions_is_asserted_alone(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(SEVERAL)
    advice = [f.suggestion for f in analyse([(file, "model.py")]).findings if f.rule == "GD202"]
    assert advice and all("one for each condition" in each for each in advice)
