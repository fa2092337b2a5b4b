"""The parent side of a worker that measures: start it, pass on what it says, leave nothing behind."""

from __future__ import annotations

import json
import os
import selectors
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from graphdoctor.bench.model import Question
from graphdoctor.dynamic.server import Process

Message = dict[str, Any]

#: Seconds between two looks at the life and the memory of the worker, and the limit of the latter in MiB.
_POLL = 0.2
_MEMORY_MB = 16384
_CHUNK = 1 << 16
_KEPT_OUTPUT = 1 << 10


def dump(question: Question) -> str:
    """``question`` as JSON text, its paths absolute."""
    data = {**asdict(question), "file": str(question.file.resolve()), "root": str(question.root.resolve())}
    return json.dumps(data)


def load(text: str) -> Question:
    """The question that ``dump`` wrote."""
    data = json.loads(text)
    return Question(**{**data, "file": Path(data["file"]), "root": Path(data["root"]), "inputs": tuple(data["inputs"])})


def ask(module: str, question: Question, timeout: float, said: Callable[[Message], None]) -> str | None:
    """Run ``module.main`` on ``question`` in a process of its own, with empty compiler caches.

    ``said`` gets each message of the worker but the last, which is of kind "end". Gives None when the worker came to
    its end, else in one line why not. When this returns or raises, no process of the worker is left.
    """
    with tempfile.TemporaryDirectory(prefix="graphdoctor-", ignore_cleanup_errors=True) as folder:
        file = Path(folder) / "question.json"
        file.write_text(dump(question), encoding="utf-8")
        process = Process("main", str(file), Path(folder), module=module)
        try:
            return _watch(process, timeout, said)
        finally:
            process.stop()


def _watch(process: Process, timeout: float, said: Callable[[Message], None]) -> str | None:
    assert process.popen.stdout is not None
    output = process.popen.stdout.fileno()
    deadline = time.monotonic() + timeout
    pending, printed = b"", b""
    with selectors.DefaultSelector() as selector:
        for descriptor in (process.results, output):
            os.set_blocking(descriptor, False)
            selector.register(descriptor, selectors.EVENT_READ)
        while True:
            dead = process.popen.poll() is not None
            for key, _ in selector.select(0 if dead else _POLL):
                if key.fd == output:
                    data = _read(output)
                    printed = (printed + data)[-_KEPT_OUTPUT:]
                    if not data:
                        selector.unregister(output)
            while data := _read(process.results):
                pending += data
            *lines, pending = pending.split(b"\n")
            for message in map(json.loads, lines):
                if message["kind"] == "end":
                    return None
                if message["kind"] == "failed":
                    return str(message["detail"])
                said(message)
            if dead:
                return _death(process.popen.returncode, printed)
            if time.monotonic() > deadline:
                return f"stopped after {timeout:.0f} s: the time limit"
            if (used := process.tree.resident() >> 20) > _MEMORY_MB:
                return f"used {used} MiB of memory, more than {_MEMORY_MB} MiB"


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return b""


def _death(code: int, printed: bytes) -> str:
    lines = [line.strip() for line in printed.decode(errors="replace").splitlines() if line.strip()]
    words = f'; its last line was "{lines[-1]}"' if lines and lines[-1].isprintable() else ""
    if code < 0 and -code in set(signal.Signals):
        return f"killed by {signal.Signals(-code).name}{words}"
    return f"the process ended with code {code}{words}"
