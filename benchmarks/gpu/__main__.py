"""What graphdoctor says and measures on a GPU, in some eight minutes and without a network.

    python -m benchmarks.gpu [--json FILE] [--parts scans,planted,forms,outputs,timing] [--docs docs/benchmarks.md]

The demo and four models of transformers are scanned on the GPU and on the CPU, whose breaks have to agree; planted
cases have to be found by the checks of the device; forms of code for a GPU have to break where they are marked, and
programs that keep what CUDA graphs give have to raise; modes, backends, AMP, a compiled optimizer and the caches are
timed. Each result is written at once. Without a GPU it ends with one line.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.gpu import forms, graph_outputs, scans

_ROOT = Path(__file__).parents[2]
_RESULTS = _ROOT / "benchmarks/results/gpu.json"
_LIMIT = 120
_BETWEEN = ("<!-- python -m benchmarks.gpu -->\n", "<!-- end gpu -->")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", default=_RESULTS)
    parser.add_argument("--parts", default="scans,planted,forms,outputs,timing")
    parser.add_argument("--docs", type=Path, metavar="FILE", help="write the table into this file")
    options = parser.parse_args()
    if reason := _missing():
        print(f"nothing was measured: {reason}")
        return 1
    found: dict[str, Any] = {"versions": _versions()}
    parts = {
        "scans": scans.compared,
        "planted": scans.planted,
        "forms": forms.run,
        "outputs": graph_outputs.run,
        "timing": _timings,
    }
    for part in options.parts.split(","):
        found[part] = {}
        for name, result in parts[part]():
            found[part][name] = result
            print(f"{part}: {name}: {json.dumps(result)[:160]}", flush=True)
            options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    if options.docs is not None:
        before, _, rest = options.docs.read_text(encoding="utf-8").partition(_BETWEEN[0])
        after = rest.partition(_BETWEEN[1])[2]
        text = f"{before}{_BETWEEN[0]}{table(found)}{_BETWEEN[1]}{after}"
        options.docs.write_text(text, encoding="utf-8")
    wrong = [name for name, result in found.get("scans", {}).items() if not result.get("breaks_agree")]
    wrong += [name for name, result in found.get("planted", {}).items() if not result["found"]]
    for part in ("forms", "outputs"):
        wrong += [name for name, result in found.get(part, {}).items() if result["differs"]]
    said = f"not as on the CPU, not found, or not as marked: {', '.join(wrong)}"
    print(said if wrong else "breaks agree, each case is found, and each form does as it is marked")
    return 1 if wrong else 0


def _missing() -> str:
    """Why there is nothing to measure; empty where there is a GPU."""
    try:
        import torch
    except ImportError:
        return "torch is not installed"
    return "" if torch.cuda.is_available() else f"torch {torch.__version__} finds no CUDA device"


def _versions() -> dict[str, str | None]:
    import torch

    return {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "device": torch.cuda.get_device_name(),
        "python": platform.python_version(),
    }


def _timings() -> Iterator[tuple[str, dict[str, Any]]]:
    from benchmarks.gpu.timing import PARTS

    for name in PARTS:
        command = [sys.executable, "-m", "benchmarks.gpu.timing", name]
        try:
            done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=_LIMIT)
        except subprocess.TimeoutExpired:
            yield name, {"failure": f"stopped after {_LIMIT} s"}
            continue
        if done.returncode:
            yield name, {"failure": done.stderr.strip().rpartition("\n")[2]}
        else:
            yield name, json.loads(done.stdout.splitlines()[-1])


def table(found: dict[str, Any]) -> str:
    """The results as Markdown."""
    versions = ", ".join(f"{name} {value}" for name, value in found["versions"].items() if value)
    lines = [f"{versions}."]
    if scans := found.get("scans"):
        lines += ["", "| Scan | Verdict | Breaks | As on the CPU |", "|---|---|---|---|"]
        lines += [_scan_row(name, result) for name, result in scans.items()]
    if planted := found.get("planted"):
        lines += ["", "| Planted | Told |", "|---|---|"]
        lines += [f"| {name} | {'yes' if result['found'] else 'no'} |" for name, result in planted.items()]
    for part, what in (("forms", "forms of code for a GPU"), ("outputs", "programs with CUDA graphs")):
        if checked := found.get(part):
            differ = [name for name, result in checked.items() if result["differs"]]
            lines += ["", f"Of {len(checked)} {what} {len(checked) - len(differ)} did as they are marked."]
            lines += [f"- {name}: {checked[name]['differs']}" for name in differ]
    if timed := found.get("timing"):
        lines += ["", "| Timed | First call (s) | Later (ms) | Quartiles |", "|---|---|---|---|"]
        lines += [_timing_row(name, result) for name, result in timed.items()]
    return "\n".join(lines) + "\n"


def _scan_row(name: str, result: dict[str, Any]) -> str:
    if "breaks_agree" not in result:
        return f"| {name} | failed | | |"
    return f"| {name} | {result['verdict']} | {len(result['breaks'])} | {'yes' if result['breaks_agree'] else 'no'} |"


def _timing_row(name: str, result: dict[str, Any]) -> str:
    if "ms" not in result:
        return f"| {name} | {', '.join(f'{key} {value}' for key, value in result.items())} | | |"
    low, high = result["quartiles_ms"]
    return f"| {name} | {result['first_s']} | {result['ms']} | {low} to {high} |"


if __name__ == "__main__":
    sys.exit(main())
