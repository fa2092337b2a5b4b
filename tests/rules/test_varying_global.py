"""Numbers at module level that change between calls of compiled code."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch

SCALE = 1.0
SEEN = []


@torch.compile
def loss(out):
    return out.mean() * SCALE


def main():
    global SCALE
    for i in range(12):
        {changes}
        loss(torch.rand(2, 16))


{starts}
"""


@pytest.mark.parametrize("starts", ["main()", 'if __name__ == "__main__":\n    main()', "if SEEN:\n    main()", ""])
@pytest.mark.parametrize(
    ("changes", "lines"),
    [("SCALE *= 0.9", [9]), ("SCALE = i", [9]), ("SCALE = torch.tensor(i)", []), ("SEEN.append(i)", [])],
)
def test_a_global_that_main_changes(tmp_path: Path, starts: str, changes: str, lines: list[int]) -> None:
    file = tmp_path / "train.py"
    file.write_text(SOURCE.format(starts=starts, changes=changes))
    found = analyse([(file, "train.py")]).findings
    assert [f.location.line for f in found if f.rule == "GD706"] == lines
