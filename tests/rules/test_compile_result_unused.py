"""Compiled models that nothing runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse


@pytest.mark.parametrize(
    ("rest", "found"),
    [
        ("for _ in range(3):\n    net(torch.rand(4))", ["GD601"]),
        ("for _ in range(3):\n    fast(torch.rand(4))", []),
        ("def main():\n    net(torch.rand(4))", []),
        ("", []),
    ],
)
def test_a_name_of_the_module_that_nothing_reads_while_the_plain_model_runs(
    tmp_path: Path, rest: str, found: list[str]
) -> None:
    file = tmp_path / "run.py"
    file.write_text(
        f"import torch\n\nnet = torch.nn.Linear(4, 4)\nnet(torch.rand(4))\nfast = torch.compile(net)\n{rest}\n"
    )
    assert [f.rule for f in analyse([(file, "run.py")]).findings] == found
