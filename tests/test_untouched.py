"""A scan leaves its surroundings as they were, and says the same each time."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from graphdoctor import api
from graphdoctor.report import as_json

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
        self.step = 0

    def forward(self, x, kind=Kind.A):
        self.step += 1
        return x * self.step + 1 if kind is Kind.A else x - 1


def graphdoctor_target():
    return Net(), (torch.ones(4, 2),)


def graphdoctor_variants():
    return [(torch.ones(4, 2), kind) for kind in (Kind.A, Kind.B, Kind.A)]
"""


def test_two_scans_agree_and_touch_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, cache = tmp_path / "model.py", tmp_path / "cache"
    file.write_text(MODEL)
    cache.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TORCH_LOGS", "recompiles")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(cache))
    options = api.ScanOptions(("model.py",), mode="eval", verify=False, vary=("batch=4,5",))
    before = dict(os.environ), Path.cwd(), random.getstate(), sorted(tmp_path.rglob("*"))
    first, second = (json.loads(as_json.render(api.scan(options))) for _ in range(2))
    assert (dict(os.environ), Path.cwd(), random.getstate(), sorted(tmp_path.rglob("*"))) == before
    assert first.pop("timings") and second.pop("timings")
    assert json.dumps(first) == json.dumps(second)
    (run,) = first["dynamic"]
    assert {recompile["kind"] for recompile in run["recompiles"]} == {"identity", "size"}
