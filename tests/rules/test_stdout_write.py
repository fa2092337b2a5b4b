"""What writes to the terminal is told from what has the name of a builtin."""

from __future__ import annotations

from pathlib import Path

from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        if not input.is_complex():
            return x
        answer = input("go on?")  # found
        return x * len(answer)
"""


def test_a_name_that_nobody_bound_is_no_question_to_the_user(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(SOURCE)
    found = analyse([(file, "model.py")]).findings
    assert [(f.rule, f.location.line) for f in found] == [("GD102", 8)]
