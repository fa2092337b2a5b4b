"""Forms of code for a GPU: do they end the graph where they are marked, and does the static pass say so?

A machine without a GPU cannot run them, so the marks were made on one; ``run`` checks them again. Each form of
``cuda_forms.txt`` becomes a program like the examples of rules, with its module and input on the GPU.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.rule_versions.examples import difference

_FORMS = Path(__file__).with_name("cuda_forms.txt")
_RUNNER = Path(__file__).parents[1] / "rule_versions/run.py"
#: The torch that the marks are of.
TORCH = "2.11"
NOT_SAID = ", not said"
#: Forms that run in one process: what breaks the device costs these only.
_SHARD = 40
_LIMIT = 240

_PROGRAM = """\
import torch
import torch.nn.functional as F
from torch import nn
{module}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(8, 8)
{init}
    def forward(self, x):
{body}

def graphdoctor_target():
    torch.cuda.init()
    return Net().cuda(), (torch.rand(4, 8, device="cuda"),)
"""


def forms() -> dict[str, str]:
    """The programs by name, with their marks; ``not said`` stays in them."""
    sections = _FORMS.read_text(encoding="utf-8").split("\n## ")[1:]
    return {section.partition("\n")[0]: _program(section.partition("\n")[2]) for section in sections}


def _program(section: str) -> str:
    parts: dict[str, list[str]] = {"module": [], "init": [], "body": []}
    for line in section.rstrip("\n").split("\n"):
        part, _, rest = line.partition(": ")
        if part in ("module", "init"):
            parts[part].append(rest if part == "module" else f"        {rest}")
        else:
            parts["body"].append(f"        {line}")
    return _PROGRAM.format(**{part: "\n".join(lines) for part, lines in parts.items()})


def marked(source: str) -> str:
    """``source`` with marks as rule examples have them."""
    return source.replace(NOT_SAID, "")


def run() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each form on the GPU: in what it differs from its marks, and what that text says."""
    programs = {name: marked(source) for name, source in forms().items()}
    names = list(programs)
    for start in range(0, len(names), _SHARD):
        shard = {name: programs[name] for name in names[start : start + _SHARD]}
        ran = _run(shard)
        for name, source in shard.items():
            differs = difference(name, source, ran[name]) if name in ran else "not run"
            yield name, {"differs": differs}


def _run(programs: dict[str, str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="graphdoctor-") as folder:
        answer = Path(folder) / "answer.json"
        command = [sys.executable, str(_RUNNER), str(answer)]
        try:
            subprocess.run(command, input=json.dumps(programs), capture_output=True, text=True, timeout=_LIMIT)
        except subprocess.TimeoutExpired:
            return {}
        return json.loads(answer.read_text(encoding="utf-8")) if answer.is_file() else {}
