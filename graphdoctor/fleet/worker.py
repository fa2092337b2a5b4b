"""One target scanned in a process of its own, with limits. Whatever it does costs no other target."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import graphdoctor
from graphdoctor.dynamic.parent.processes import MARKER, Tree
from graphdoctor.dynamic.parent.watch import signal_name
from graphdoctor.model.fleet import Limits, Outcome, Result, Target
from graphdoctor.report.json_format.reader import ReadError, read

#: The folder of the reports as HTML, in that of the fleet.
PAGES = "reports"

#: The scan ends when this process does, even by SIGKILL. The user's folder is not searched for its modules.
_START = """
import sys
sys.path[:] = [path for path in sys.path if path]
sys.path.append(sys.argv.pop(1))
from graphdoctor.dynamic.parent.processes import die_with_parent
die_with_parent()
from graphdoctor.entry import main
main()
"""

#: Seconds between two looks at the process; weighing it may take this share of the time.
_POLL = 0.2
_WEIGHING = 0.05


class Stopped(Exception):
    """The fleet was interrupted; the target has no result."""


def scan(target: Target, options: Sequence[str], limits: Limits, folder: Path, key: str, stop: Event) -> Result:
    """Scan ``target`` with ``options`` as well; its page goes below ``folder``. Raises Stopped when ``stop`` is set."""
    page = f"{PAGES}/{_file_name(target.name)}.html"
    with tempfile.TemporaryDirectory(prefix="graphdoctor-", ignore_cleanup_errors=True) as made:
        report, stderr = Path(made) / "report.json", Path(made) / "stderr"
        outputs = ["--report", f"json={report}", "--html", str(folder.resolve() / page), "--output", os.devnull]
        started = time.monotonic()
        ended = _run([*target.arguments, *options, *outputs], target.folder, stderr, limits, stop)
        seconds = time.monotonic() - started
        text = report.read_text(encoding="utf-8") if report.is_file() else ""
        output = stderr.read_text(encoding="utf-8", errors="replace")
    last = output.strip().rpartition("\n")[2].removeprefix("graphdoctor: ")
    memory = ended.memory >> 20
    if ended.outcome == "done":
        try:
            diagnosis = read(text)
        except ReadError:
            return Result(target.name, key, "failed", seconds, memory, last or ended.detail)
        if diagnosis.files and all(file.status == "failed" for file in diagnosis.files):
            return Result(target.name, key, "failed", seconds, memory, diagnosis.files[0].reason or "")
        return Result(target.name, key, "done", seconds, memory, "", diagnosis.summary, text, page)
    detail = f'{ended.detail}; its last line was "{last}"' if last and ended.outcome == "crashed" else ended.detail
    return Result(target.name, key, ended.outcome, seconds, memory, detail)


@dataclass(frozen=True)
class _Ended:
    """How the process ended, and the most bytes that its processes were seen to hold."""

    outcome: Outcome
    detail: str
    memory: int


def _run(arguments: Sequence[str], folder: Path, stderr: Path, limits: Limits, stop: Event) -> _Ended:
    marker = uuid.uuid4().hex
    with stderr.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-c", _START, str(Path(graphdoctor.__file__).parents[1]), "scan", *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stream,
            start_new_session=True,
            env={**os.environ, MARKER: marker},
        )
    tree = Tree(process.pid, marker)
    try:
        return _watched(process, tree, limits, stop)
    finally:
        tree.kill()
        process.wait()


def _watched(process: subprocess.Popen[bytes], tree: Tree, limits: Limits, stop: Event) -> _Ended:
    deadline = time.monotonic() + limits.seconds
    most, weighed, pause = 0, 0.0, _POLL
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = process.wait(_POLL)
            crashed = code < 0
            return _Ended(
                "crashed" if crashed else "done",
                f"killed by {signal_name(code)}" if crashed else f"ended with code {code}",
                most,
            )
        if stop.is_set():
            raise Stopped
        now = time.monotonic()
        if now > deadline:
            return _Ended("timeout", f"stopped after {limits.seconds:g} s, the limit of a target", most)
        if now - weighed > pause:
            most = max(most, tree.resident())
            if most >> 20 > limits.memory_mb:
                return _Ended("memory", f"stopped at {most >> 20} MiB, more than {limits.memory_mb} MiB", most)
            weighed = time.monotonic()
            pause = max(_POLL, (weighed - now) / _WEIGHING)


def _file_name(name: str) -> str:
    """What can be read of the name, and a digest, which keeps apart what reads the same."""
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:80]
    return f"{readable}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
