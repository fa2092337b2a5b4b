"""What "Ready" says beside: what is predicted, and what each call compiles again."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from graphdoctor.cli import cli

SOURCE = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.seen = 0

    def forward(self, x):
        if self.training:
            self.seen += x.size(0)
        return self.linear(x)


def graphdoctor_target():
    return Net(), (torch.randn(4, 8),)
"""


@pytest.mark.parametrize("mode", ["train", "both"])
def test_a_counter_is_part_of_the_headline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    pytest.importorskip("torch")
    (tmp_path / "net.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["scan", "net.py", "--mode", mode])
    headline = " ".join(result.stdout.partition("\n\n")[0].split())
    assert headline.startswith("Not ready")
    assert "1 recompile cause" in headline and "each call is compiled again" in headline
