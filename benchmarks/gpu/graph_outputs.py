"""Programs that keep what a function compiled with CUDA graphs gives: do they do what was seen, and is that said?

Only a GPU records CUDA graphs, so what each program does was seen on one; ``run`` looks again. The programs are in
``cuda_graph_outputs.txt``: the lines below ``_HEAD``.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PROGRAMS = Path(__file__).with_name("cuda_graph_outputs.txt")
_OVERWRITTEN = "overwritten by a subsequent run"
_LIMIT = 120

_HEAD = """\
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
def net(): return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).cuda()
X = [torch.randn(8, 64, device="cuda") for _ in range(6)]
model = net()
fast = torch.compile(model, mode="reduce-overhead")
outs = []
"""


@dataclass(frozen=True)
class Program:
    """What a program did on a GPU, ``fine``, ``raises`` or ``wrong``, and whether the rules say something of it."""

    source: str
    outcome: str
    is_said: bool


def programs() -> dict[str, Program]:
    """All of them, by name."""
    found = {}
    for section in _PROGRAMS.read_text(encoding="utf-8").split("\n## ")[1:]:
        title, _, body = section.partition("\n")
        name, _, said = title.partition(": ")
        outcome, _, more = said.partition(", ")
        found[name] = Program(f"{_HEAD}{body}\n", outcome, outcome != "fine" and more != "not said")
    return found


def run() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each program on the GPU, in a process of its own: in what it differs from what was seen."""
    for name, program in programs().items():
        outcome = _outcome(program.source)
        yield name, {"differs": "" if outcome == program.outcome else f"{outcome} in place of {program.outcome}"}


def _outcome(source: str) -> str:
    try:
        done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=_LIMIT)
    except subprocess.TimeoutExpired:
        return f"stopped after {_LIMIT} s"
    if done.returncode == 0:
        return "fine"
    last = done.stderr.strip().rpartition("\n")[2]
    if _OVERWRITTEN in last:
        return "raises"
    return "wrong" if last == "AssertionError: silently wrong" else last
