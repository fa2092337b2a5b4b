"""A scan on a machine with a GPU, whose answer is made up, of code that stays on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from graphdoctor.api import scan
from graphdoctor.dynamic.parent import runner
from graphdoctor.dynamic.parent.protocol import RunRequest, RunResult
from graphdoctor.model.runs import DynamicRun
from graphdoctor.scan.options import ScanOptions

SOURCE = """\
import torch

table = torch.arange(4)


def f(x):
    print("forward")
    return x * table


def graphdoctor_target():
    return f, (torch.rand(4),)
"""
MIXED = "RuntimeError in eager: Expected all tensors to be on the same device, but found two (net.py:8 in f)"


def test_all_runs_of_the_scan_follow_the_first_to_the_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE)
    real, devices = runner.run, []

    def run(request: RunRequest, *more: Any) -> RunResult:
        devices.append(request.device)
        if request.device == "auto":
            return RunResult((DynamicRun("f", "eval", "cuda", "raised", MIXED),), {"device": "NVIDIA H200"})
        return real(request, *more)

    monkeypatch.setattr(runner, "run", run)
    diagnosis = scan(ScanOptions(paths=(str(file),), run=True, verify=True, isolated=True, advise=True))
    assert devices[0] == "auto" and len(devices) > 3 and set(devices[1:]) == {"cpu"}
    assert diagnosis.dynamic is not None
    assert [(found.device, found.outcome, len(found.breaks)) for found in diagnosis.dynamic] == [("cpu", "ok", 1)]
    assert diagnosis.environment["device"] == "cpu"
    line = f"run on the CPU: on cuda it ended with {MIXED}, because part of the code stays on the CPU"
    assert diagnosis.notes.count(line) == 1
    (finding,) = diagnosis.findings
    assert (finding.rule, finding.status) == ("GD101", "confirmed")
    assert finding.fix is not None and finding.fix.grade == "general"
    assert diagnosis.advice is not None and diagnosis.advice.device_note == ""
