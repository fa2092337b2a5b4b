"""What a scan of a model of real size costs, beside a bare script that runs it once and compiles it once.

``python -m benchmarks.real_size`` takes turns between the bare script, which imports, runs the model in eager once and
compiles it once with the backend eager, and three scans: ``--no-run`` (the static pass, whose findings are printed
before anything is run), ``--quick`` (the verdict), and one with default options. It prints the CPU time and the peak of
memory of each as a ratio to the bare script's, medians of ``--rounds``, and saves them. Memory is that of all processes
together, where what they share counts once. Weights are random, nothing is downloaded.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

RESULT = Path(__file__).parent / "results" / "real_size.json"

#: Seconds between two looks at the memory.
_INTERVAL = 1.0

_TEXT = """\
import torch
from transformers import {config}, {model}

def graphdoctor_target():
    config = {config}({options})
    model = {model}(config){dtype}
    return model, (), {{"input_ids": torch.randint(0, 1000, (1, 64)), "use_cache": False}}
"""
#: The file that is scanned, by the name of its model.
MODELS: Mapping[str, str] = {
    "gpt2": _TEXT.format(config="GPT2Config", model="GPT2LMHeadModel", options="", dtype=""),
    "bert-base": _TEXT.format(config="BertConfig", model="BertModel", options="", dtype=""),
    "vit-base": """\
import torch
from transformers import ViTConfig, ViTForImageClassification

def graphdoctor_target():
    return ViTForImageClassification(ViTConfig()), (torch.rand(1, 3, 224, 224),)
""",
    # The UNet of Stable Diffusion 1.5, for an image of 256 pixels.
    "unet": """\
import torch
from diffusers import UNet2DConditionModel

def graphdoctor_target():
    model = UNet2DConditionModel(sample_size=32, cross_attention_dim=768)
    return model, (torch.rand(1, 4, 32, 32), 1, torch.rand(1, 77, 768))
""",
    # The sizes of TinyLlama.
    "llama-1.1b": _TEXT.format(
        config="LlamaConfig",
        model="LlamaForCausalLM",
        options="hidden_size=2048, intermediate_size=5632, num_hidden_layers=22, num_key_value_heads=4",
        dtype=".to(torch.bfloat16)",
    )
    .replace("    config =", "    torch.set_default_dtype(torch.bfloat16)\n    config =")
    .replace("    return model", "    torch.set_default_dtype(torch.float32)\n    return model"),
}

BARE = """\
import sys
import torch
sys.path.insert(0, ".")
from model import graphdoctor_target
found = graphdoctor_target()
model, args, kwargs = (*found, {}) if len(found) == 2 else found
model.eval()
with torch.no_grad():
    model(*args, **kwargs)
    torch.compile(model, backend="eager")(*args, **kwargs)
"""
#: The options of each scan.
SCANS: Mapping[str, tuple[str, ...]] = {"static": ("--no-run",), "verdict": ("--quick",), "whole": ()}


@dataclass(frozen=True)
class Cost:
    """What a command took, with all processes that it started."""

    wall: float
    cpu: float
    mebibytes: float
    output: str


def measure(command: Sequence[str], folder: Path) -> Cost:
    """Run ``command``. Raises ClickException where it ends with an error; 1 says that something was found."""
    began = time.perf_counter()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=errors)
        peak = 0.0
        while True:
            ended, status, used = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            peak = max(peak, memory(process.pid))
            time.sleep(_INTERVAL)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0), errors.seek(0)
        text, complaint = output.read().decode(), errors.read().decode()
    if process.returncode not in (0, 1) or (process.returncode and not text):
        raise click.ClickException(f"{command[1:]} ended with {process.returncode}: {complaint[-500:]} {text[:500]}")
    peak = max(peak, used.ru_maxrss / 1024)
    return Cost(time.perf_counter() - began, used.ru_utime + used.ru_stime, peak, text)


def memory(pid: int) -> float:
    """The MiB that a process and those below it hold now: of what several hold, each has its part."""
    kibibytes, pending = 0, [pid]
    while pending:
        folder = Path("/proc", str(pending.pop()))
        try:
            rollup = (folder / "smaps_rollup").read_text()
            for task in (folder / "task").iterdir():
                pending += map(int, (task / "children").read_text().split())
        except OSError:
            # It has just ended.
            continue
        kibibytes += next((int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")), 0)
    return kibibytes / 1024


def compared(name: str, rounds: int, timeout: float) -> dict[str, Any]:
    """The row of one model."""
    taken: dict[str, list[Cost]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "model.py").write_text(MODELS[name])
        (folder / "bare.py").write_text(BARE)
        scan = [sys.executable, "-m", "graphdoctor", "scan", "--no-cache", "--output-format", "json"]
        scan += ["--timeout", str(timeout)]
        for _ in range(rounds):
            taken.setdefault("bare", []).append(measure([sys.executable, "bare.py"], folder))
            for what, options in SCANS.items():
                taken.setdefault(what, []).append(measure([*scan, *options, "model.py"], folder))
    row: dict[str, Any] = {"rounds": rounds, "timeout": timeout, "load_average": round(os.getloadavg()[1], 1)}
    for what, costs in taken.items():
        row[what] = {
            "cpu_seconds": round(statistics.median(cost.cpu for cost in costs), 1),
            "seconds": round(statistics.median(cost.wall for cost in costs), 1),
            "mebibytes": round(statistics.median(cost.mebibytes for cost in costs)),
        }
    for what in SCANS:
        report = json.loads(taken[what][-1].output)
        outcomes = {run["mode"]: run["outcome"] for run in report["dynamic"] or ()}
        row[what]["headline"] = report["summary"]["headline"]
        row[what]["left_out"] = [note for note in report["notes"] if "left out" in note]
        row[what]["memory_ratio"] = round(row[what]["mebibytes"] / row["bare"]["mebibytes"], 2)
        # A worker that was ended at the time limit leaves no CPU time.
        if set(outcomes.values()) <= {"ok"}:
            row[what]["cpu_ratio"] = round(row[what]["cpu_seconds"] / row["bare"]["cpu_seconds"], 2)
        else:
            row[what]["outcomes"] = outcomes
    return row


@click.command(help=__doc__)
@click.option("--model", "names", multiple=True, type=click.Choice(tuple(MODELS)), help="Which.  [default: all]")
@click.option("--rounds", default=3, show_default=True, help="How often each is run.")
@click.option("--timeout", default=120.0, show_default=True, help="The time limit of the scans.")
@click.option("--json", "output", type=click.Path(path_type=Path), default=RESULT, show_default=False)
def main(names: tuple[str, ...], rounds: int, timeout: float, output: Path) -> None:
    """Measure, print and save after each model: rows of others stay, and so do those with another time limit."""
    for name in names or tuple(MODELS):
        row = compared(name, rounds, timeout)
        result = json.loads(output.read_text()) if output.exists() else {"models": {}}
        key = name if timeout == 120 else f"{name}, --timeout {timeout:g}"
        result["models"][key] = row
        result |= {
            "python": platform.python_version(),
            **{package: version(package) for package in ("torch", "transformers", "diffusers", "graphdoctor")},
        }
        output.write_text(json.dumps(result, indent=2) + "\n")
        click.echo(f"{key}: {json.dumps(row)}")


if __name__ == "__main__":
    main()
