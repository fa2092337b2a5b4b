"""How long ``graphdoctor trace`` takes for many ranks with long traces, and how much memory.

    python benchmarks/trace.py /tmp/trace --ranks 64 --megabytes 200 [--rounds 1] [--json FILE]

The folder is what a job wrote with TORCH_TRACE set, for example fixtures/ddp/train.py. A rank of the size that is asked
for is one of its files again and again, with the frames numbered on, as if the job had compiled so much more; each rank
has another number, process id, sizes in its guards and values in its breaks. One process and two read them in turns.

On a machine that does other work too, seconds say little of two processes: what counts then is the processor time on
the longest way, that of the parent and of the process that worked most.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from graphdoctor.trace.files import find, open_trace

#: What a repetition counts on, and what a rank has of its own.
_FRAME = re.compile(rb'("frame_id": )(\d+)')
_VALUES = ((re.compile(rb"(?<=expected )\d+(?=, actual)"), 8), (re.compile(rb"(?<=\bactual )\d+\b"), 6))
_POLL = 0.05

_READ = """
import sys, time
from pathlib import Path
started = time.monotonic()
from graphdoctor.trace.diagnose import diagnose
diagnosis = diagnose(Path(sys.argv[1]), jobs=int(sys.argv[2]))
print(time.monotonic() - started)
print(diagnosis.notes[0])
"""


def main() -> None:
    """Print what was read, the seconds, the peak memory of all processes (Linux), and how two compare with one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--megabytes", type=int, default=200, help="of each rank")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    runs: dict[int, list[Run]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory(prefix="graphdoctor-") as made:
        write_ranks(options.folder, Path(made), options.ranks, options.megabytes)
        for _ in range(options.rounds):
            for jobs, measured in runs.items():
                found = run(Path(made), jobs)
                measured.append(found)
                print(f"{jobs} at a time: {found.seconds:.1f} s, {found.cpu:.1f} s of CPU, {found.peak} MB", flush=True)
    seconds = {jobs: statistics.median(found.seconds for found in measured) for jobs, measured in runs.items()}
    cpu = {jobs: statistics.median(found.cpu for found in measured) for jobs, measured in runs.items()}
    by_cpu, by_clock = cpu[1] / cpu[2], seconds[1] / seconds[2]
    print(f"two processes are {by_cpu:.2f} times as fast as one by CPU, {by_clock:.2f} by the clock")
    if options.json is not None:
        result = {
            "ranks": options.ranks,
            "megabytes_each": options.megabytes,
            "two_against_one": {"cpu": round(by_cpu, 2), "clock": round(by_clock, 2)},
            "cpu_seconds": {str(jobs): round(value, 1) for jobs, value in cpu.items()},
            "seconds": {str(jobs): round(value, 1) for jobs, value in seconds.items()},
            "peak_mb": {str(jobs): max(found.peak for found in measured) for jobs, measured in runs.items()},
            "rounds": options.rounds,
            "load": round(os.getloadavg()[0], 1),
        }
        options.json.write_text(json.dumps(result, indent=2) + "\n")


def write_ranks(recorded: Path, folder: Path, ranks: int, megabytes: int) -> None:
    """The files of ``ranks`` ranks, each made of one of the ``recorded``, taken in turns."""
    sources = []
    for file in find(recorded):
        with open_trace(file) as stream:
            sources.append(stream.read())
    for rank in range(ranks):
        with (folder / f"dedicated_log_torch_trace_rank_{rank}_made.log").open("wb") as stream:
            for part in repeated(of_rank(sources[rank % len(sources)], rank)):
                stream.write(part)
                if stream.tell() >= megabytes * 1_000_000:
                    break


def of_rank(trace: bytes, rank: int) -> bytes:
    """``trace`` as ``rank`` would have written it."""
    trace = re.sub(rb'"rank": \d+', b'"rank": %d' % rank, trace)
    trace = re.sub(rb"^([A-Z]\d{4} [\d:.]+ )\d+ ", rb"\g<1>%d " % (1000 + rank), trace, flags=re.MULTILINE)
    for value, least in _VALUES:
        trace = value.sub(b"%d" % (least + rank % 3), trace)
    return trace


def repeated(trace: bytes) -> Iterator[bytes]:
    """``trace`` without end, the frames of each repetition numbered after those of the one before."""
    parts = _FRAME.split(trace)
    frames = 1 + max((int(number) for number in parts[2::3]), default=0)
    for repetition in range(1 << 30):
        numbered = list(parts)
        numbered[2::3] = [b"%d" % (int(number) + repetition * frames) for number in parts[2::3]]
        yield b"".join(numbered)


@dataclass(frozen=True)
class Run:
    """Seconds, those of CPU on the longest way, and the most megabytes that all processes held together."""

    seconds: float
    cpu: float
    peak: int


def run(folder: Path, jobs: int) -> Run:
    """Read the traces in ``folder``, ``jobs`` at a time."""
    peak, cpu = 0, dict[int, float]()
    with subprocess.Popen([sys.executable, "-c", _READ, str(folder), str(jobs)], stdout=subprocess.PIPE) as process:
        while process.poll() is None:
            pids = list(_tree(process.pid))
            peak = max(peak, sum(map(_resident, pids)))
            cpu.update({pid: max(_cpu(pid), cpu.get(pid, 0.0)) for pid in pids})
            time.sleep(_POLL)
        assert process.stdout is not None
        seconds = float(process.stdout.readline())
    others = [value for pid, value in cpu.items() if pid != process.pid]
    return Run(seconds, cpu[process.pid] + max(others, default=0.0), peak >> 10)


def _tree(pid: int) -> Iterator[int]:
    yield pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for child in children:
        yield from _tree(int(child))


def _cpu(pid: int) -> float:
    try:
        times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> int:
    """Kibibytes of resident memory, those shared with the parent too."""
    try:
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) if found else 0


if __name__ == "__main__":
    main()
