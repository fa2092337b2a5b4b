"""What a scan costs that verifies many fixes, beside a bare script that runs the model once and compiles it once.

``python -m benchmarks.verification`` takes turns between the bare script and three scans of one model with ten changes
to verify, of which one is a setting for the whole process: ``--quick`` (the verdict, no fix is tried), one with default
options, and ``--each-fix``. It prints the CPU time of each as a ratio to the bare script's, medians of ``--rounds``,
and what the fixes are called then, which must not depend on how quick the scan is.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import click

from benchmarks.real_size import BARE, Cost, measure

RESULT = Path(__file__).parent / "results" / "verification.json"

MODEL = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Conv1d(width, width, 3, padding=1)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        y = self.mix(self.norm(x).transpose(1, 2)).transpose(1, 2)
        return x + self.out(torch.tanh(y) * torch.sigmoid(y))


class Net(nn.Module):
    def __init__(self, width=32, depth=60):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x, lengths, bound):
        if torch.min(x) < -1e4 or torch.max(x) > 1e4:
            raise ValueError("out of range")
        mask = torch.arange(x.shape[1]) < lengths[:, None]
        x[~mask] = 0.0
        for number, block in enumerate(self.blocks):
            x = block(x)
            if number == 5:
                x = self.clipped(x, bound)
            if number == 11:
                x = self.kept(x)
        if x.isnan().any():
            x = torch.nan_to_num(x)
        if x.abs().sum() > 10.0:
            x = x * 0.5
        else:
            x = x + 1.0
        print("largest", x.max())
        longest = lengths.max().item()
        return x[:, :longest] * self.scale

    def clipped(self, x, bound):
        if bound > 0:
            x = x.clamp(max=3.0)
        if (x > 2.9).any():
            x = x - 0.1
        return x

    def kept(self, x):
        low = x < -1.0
        out = torch.zeros_like(x)
        out[low] = x[low]
        out[~low] = x[~low].tanh()
        assert not out.isinf().all()
        return out


def graphdoctor_target():
    torch.manual_seed(0)
    return Net(), (torch.randn(2, 12, 32), torch.tensor([12, 9]), torch.tensor(1.0))
"""
#: The options of each scan.
SCANS: Mapping[str, tuple[str, ...]] = {"verdict": ("--quick",), "whole": (), "each": ("--each-fix",)}


@click.command(help=__doc__)
@click.option("--rounds", default=3, show_default=True, help="How often each is run.")
@click.option("--json", "output", type=click.Path(path_type=Path), default=RESULT, show_default=False)
def main(rounds: int, output: Path) -> None:
    taken: dict[str, list[Cost]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "model.py").write_text(MODEL)
        (folder / "bare.py").write_text(BARE)
        scan = [sys.executable, "-m", "graphdoctor", "scan", "--no-cache", "--output-format", "json"]
        for _ in range(rounds):
            taken.setdefault("bare", []).append(measure([sys.executable, "bare.py"], folder))
            for what, options in SCANS.items():
                taken.setdefault(what, []).append(measure([*scan, *options, "model.py"], folder))
    cpu = {what: statistics.median(cost.cpu for cost in costs) for what, costs in taken.items()}
    wall = {what: statistics.median(cost.wall for cost in costs) for what, costs in taken.items()}
    labels = {what: _labels(taken[what][-1]) for what in SCANS}
    result = {
        "rounds": rounds,
        "load_average": round(os.getloadavg()[1], 1),
        "cpu_seconds": {what: round(seconds, 1) for what, seconds in cpu.items()},
        "seconds": {what: round(seconds, 1) for what, seconds in wall.items()},
        "cpu_ratio": {what: round(cpu[what] / cpu["bare"], 1) for what in SCANS},
        "fixes": labels,
        "python": platform.python_version(),
        **{package: version(package) for package in ("torch", "graphdoctor")},
    }
    output.write_text(json.dumps(result, indent=2) + "\n")
    click.echo(json.dumps(result, indent=2))


def _labels(cost: Cost) -> Mapping[str, int]:
    """How many fixes of a report are called what."""
    findings = json.loads(cost.output)["findings"]
    return dict(sorted(Counter(finding["fix"]["label"] for finding in findings if finding["fix"]).items()))


if __name__ == "__main__":
    main()
