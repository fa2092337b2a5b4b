"""What a scan that runs the code costs, beside a bare script that compiles the same model as often.

``python benchmarks/dynamic_speed.py FILE`` counts the compiles of one scan of FILE: the times that Dynamo begins anew
with the first frame of a model, in the trace that torch writes of every process (``TORCH_TRACE``). Then it takes turns
between the scan, with its static pass, its verification and its report, and a script that imports torch and does
nothing but as many ``torch.compile(backend="eager")`` calls of FILE's model. It prints the medians and their ratio, and
the same ratio for each compiled frame: some compiles of a scan fail early or are of a submodule, others come again for
other sizes. ``--json FILE`` saves the result.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import click

from graphdoctor.trace.records import Tally, records

ROUNDS = 5

#: Compiles the model of the file as often as the second argument says.
BARE = """
import importlib.util, sys
import torch
spec = importlib.util.spec_from_file_location("model", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
for _ in range(int(sys.argv[2])):
    torch._dynamo.reset()
    model, args = module.graphdoctor_target()
    torch.compile(model, backend="eager")(*args)
"""

#: What one process took with its children: the time on the clock and that of the CPUs.
Seconds = tuple[float, float]


def timed(command: list[str], env: dict[str, str] | None = None) -> Seconds:
    """Run ``command``. Raises CalledProcessError where it ends with an error; 1 says that something was found."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, env={**os.environ, **(env or {})}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode not in (0, 1):
        raise subprocess.CalledProcessError(done.returncode, command, stderr=done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - start, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def compiles(command: list[str]) -> tuple[int, int]:
    """How often ``command`` compiles a model, and how often a frame of one, in all its processes.

    Frames are numbered anew after each ``torch._dynamo.reset()``, which comes before every compile of a scan.
    """
    started = []
    with tempfile.TemporaryDirectory() as trace:
        timed(command, {"TORCH_TRACE": trace})
        for file in sorted(Path(trace).iterdir()):
            with file.open("rb") as stream:
                started += [record.data for record in records(stream, {"dynamo_start"}, Tally())]
    first = [data for data in started if (data.get("frame_id"), data.get("frame_compile_id")) == (0, 0)]
    return len(first), len(started)


@click.command(help=__doc__)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--rounds", default=ROUNDS, show_default=True, help="How often each is run.")
@click.option("--json", "output", type=click.Path(path_type=Path), help="Save the result here.")
def main(file: Path, rounds: int, output: Path | None) -> None:
    scan = [sys.executable, "-m", "graphdoctor", "scan", str(file)]
    models, frames = compiles(scan)
    bare = [sys.executable, "-c", BARE, str(file), str(models)]
    _, bare_frames = compiles(bare)
    taken = [(timed(scan), timed(bare)) for _ in range(rounds)]
    wall, cpu = (
        {name: statistics.median(one[i][part] for one in taken) for i, name in enumerate(("scan", "bare"))}
        for part in (0, 1)
    )
    result = {
        "file": str(file),
        "compiles": models,
        "compiled_frames": {"scan": frames, "bare": bare_frames},
        "seconds": {name: round(value, 2) for name, value in wall.items()},
        "cpu_seconds": {name: round(value, 2) for name, value in cpu.items()},
        "scan_to_bare": round(wall["scan"] / wall["bare"], 2),
        "scan_to_bare_cpu": round(cpu["scan"] / cpu["bare"], 2),
        "scan_to_bare_cpu_per_frame": round(cpu["scan"] / frames / (cpu["bare"] / bare_frames), 2),
        "rounds": rounds,
        "python": platform.python_version(),
        "torch": version("torch"),
        "graphdoctor": version("graphdoctor"),
    }
    click.echo(json.dumps(result, indent=2))
    if output:
        output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
