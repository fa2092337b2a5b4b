"""Scans on the GPU and on the CPU: do the breaks agree, and is each planted case found?"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]
_PLANTED = Path(__file__).parent / "planted"
#: The demo, and what the transformers that is installed has; without it the demo alone.
MODELS = ("fixtures/demo/model.py", "hf:BertModel", "hf:GPT2LMHeadModel", "hf:ViTModel", "hf:T5Model")
#: What the device checks of a planted case have to hold.
PLANTED = {
    "waits.py": "synchronisations",
    "on_cpu.py": "cudagraph_skips",
    "writes_to_input.py": "cudagraph_skips",
    "sizes_vary.py": "cudagraph_skips",
}
_DEVICE = ("peak_memory_eager", "peak_memory_compiled", "synchronisations", "cudagraph_skips", "hints", "unchecked")
_LIMIT = 120


def compared() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each model on both devices."""
    for model in MODELS:
        gpu, cpu = (_scan(model, device) for device in ("cuda", "cpu"))
        if "failure" in gpu or "failure" in cpu:
            yield model, {"gpu": gpu, "cpu": cpu}
            continue
        yield model, {**gpu, "breaks_agree": gpu["breaks"] == cpu["breaks"], "breaks_cpu": cpu["breaks"]}


def planted() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each planted case: whether what was planted is found, and with what action."""
    for name, wanted in PLANTED.items():
        # CUDA graphs are looked at by the backend that records them, which the ladder reaches.
        found = _scan(str(_PLANTED / name), "cuda", "--ladder", "--deep")
        actions = found.get("device", {}).get(wanted, [])
        yield name, {"wanted": wanted, "found": bool(actions), "actions": actions, "failure": found.get("failure")}


def _scan(target: str, device: str, *options: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="graphdoctor-") as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "graphdoctor", "scan", target, "--device", device, "--mode", "eval"]
        command += ["--no-verify", "--report", f"json={report}", *options]
        try:
            done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=_LIMIT)
        except subprocess.TimeoutExpired:
            return {"failure": f"stopped after {_LIMIT} s"}
        if not report.is_file():
            return {"failure": done.stderr.strip().rpartition("\n")[2] or f"ended with code {done.returncode}"}
        return _of(json.loads(report.read_text(encoding="utf-8")))


def _of(report: dict[str, Any]) -> dict[str, Any]:
    run = (report["dynamic"] or [{}])[0]
    checks = run.get("device_checks") or {}
    return {
        "verdict": report["summary"]["verdict"],
        "headline": report["summary"]["headline"],
        "device_of_run": run.get("device"),
        "breaks": sorted(f"{b['path']}:{b['line']} {b['gb_id']}" for b in run.get("breaks", ())),
        "numerics": run.get("numerics"),
        "device": {name: checks.get(name) for name in _DEVICE},
    }
