"""What is said where a number that data decides needs another form by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch


def f(x):
    found = x[x > 0.5]
    total = x.sum()
    if {test}:
        total = total + 1
    return total, found


def graphdoctor_target():
    return f, (torch.rand(8),)
"""


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        (
            "len(found) > 2",
            "It asks how many elements were selected: keep all of them and the mask, so that no size depends on data.",
        ),
        (
            "found.shape[0] == 0",
            "It asks how many elements were selected: keep all of them and the mask, so that no size depends on data.",
        ),
    ],
)
def test_what_is_asked_is_named(tmp_path: Path, test: str, reason: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(test=test))
    found = [f.fix.reason for f in analyse([(file, file.name)]).findings if f.rule == "GD217" and f.fix is not None]
    assert found == [reason]
