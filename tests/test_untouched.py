"""A scan leaves its surroundings as they were, and says the same each time."""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from graphdoctor import api
from graphdoctor.dynamic.parent import runner
from graphdoctor.report.json_format import writer

MODEL = """\
import enum
import torch
from torch import nn


class Kind(enum.Enum):
    A = 1
    B = 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.drop = nn.Dropout(0.5)
        self.step = 0

    def forward(self, x, kind=Kind.A):
        self.step += 1
        x = self.drop(self.linear(x))
        print("step")
        return x * self.step + 1 if kind is Kind.A else x - 1


def graphdoctor_target():
    return Net(), (torch.ones(4, 2),)


def graphdoctor_variants():
    return [(torch.ones(4, 2), kind) for kind in (Kind.A, Kind.B, Kind.A)]
"""


def test_two_scans_agree_and_touch_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, cache, temporary = tmp_path / "model.py", tmp_path / "cache", tmp_path / "temporary"
    file.write_text(MODEL)
    cache.mkdir()
    temporary.mkdir()
    # The worker that all tests share stays, with a folder of its own: it is no trace of these scans.
    with runner.Server() as server:
        server.start()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TORCH_LOGS", "recompiles")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(cache))
    options = api.ScanOptions(
        ("model.py",), mode="both", verify=False, vary=("batch=4,5",), readiness=True, optimizer="sgd", timeout=900
    )
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    before = around(tmp_path)
    first, second = (json.loads(writer.render(api.scan(options))) for _ in range(2))
    assert around(tmp_path) == before
    assert first.pop("timings") and second.pop("timings")
    assert json.dumps(first) == json.dumps(second)
    evaluated, trained = first["dynamic"]
    assert {recompile["kind"] for recompile in evaluated["recompiles"]} >= {"identity", "size"}
    assert evaluated["readiness"]["ready"] and trained["training"]["outcome"] == "ok"


def around(folder: Path) -> dict[str, Any]:
    """What a scan could leave changed."""
    return {
        "environment": dict(os.environ),
        "folder": Path.cwd(),
        "files": {path: path.is_file() and path.stat().st_mtime_ns for path in folder.rglob("*")},
        "random": random.getstate(),
        "path": list(sys.path),
        "arguments": list(sys.argv),
        "descriptors": len(os.listdir("/dev/fd")),
        "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)],
        "logging": (list(logging.root.handlers), logging.root.level),
    }
