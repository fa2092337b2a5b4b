"""``graphdoctor run`` with torchrun, around it and below it: two ranks on gloo, one of which compiles again and again."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]

SCRIPT = """\
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x).relu()

dist.init_process_group("gloo")
net = torch.compile(DistributedDataParallel(Net()), backend="eager", dynamic=False)
for step in range(12):
    net(torch.rand(2 + step * dist.get_rank(), 4)).sum().backward()
dist.destroy_process_group()
"""
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


@pytest.mark.parametrize("outside", [True, False])
def test_rank_that_recompiles_alone_is_the_first_line(
    graphdoctor: Command, tmp_path: Path, root: Path, outside: bool
) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    options = ["--output-format", "json", "--output", "report.json"]
    if outside:
        done = graphdoctor("run", *options, *TORCHRUN, "train.py", cwd=tmp_path)
    else:
        command = [sys.executable, *TORCHRUN, "-m", "graphdoctor", "run", *options, "train.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    summary = json.loads((tmp_path / "report.json").read_text())["summary"]
    assert summary["verdict"] == "not-ready"
    assert summary["headline"].startswith(
        "Not ready: rank 1 alone compiles train.py:11 again because the size of x changed in dimension 0: expected 2, "
        "actual 3 (up to the recompile limit), and the other ranks wait for it at the next collective; "
        "what helps on every rank: torch.compile(dynamic=True)"
    )
