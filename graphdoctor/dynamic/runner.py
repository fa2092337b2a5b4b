"""The parent side of the dynamic pass: start the worker, watch it, collect what it says, leave nothing behind."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from graphdoctor.dynamic.inputs import InputSpecError, parse_inputs
from graphdoctor.dynamic.protocol import RunRequest, RunResult, dump_request, load_run, load_varied
from graphdoctor.dynamic.sample import declares_sample
from graphdoctor.dynamic.server import PATIENT, Process, Server
from graphdoctor.dynamic.vary import parse_variations
from graphdoctor.run_model import DynamicRun, Outcome, Varied
from graphdoctor.torch_version import torch_available

__all__ = [
    "InputSpecError",
    "NotStarted",
    "RunRequest",
    "RunResult",
    "Server",
    "declares_sample",
    "parse_inputs",
    "parse_variations",
    "run",
    "torch_available",
]

Progress = Callable[[str], None]
Mode = Literal["eval", "train"]

#: Seconds between two looks at memory and life of the worker, and the share of the time that weighing it may take.
_POLL = 0.1
_WEIGHING = 0.05
#: Bytes that are read from a pipe at once, and of the user's output those that are kept (the last ones).
_CHUNK = 1 << 16
_KEPT_OUTPUT = 1 << 10


class NotStarted(Exception):
    """The server's process did not come up, so nothing is known of the code; the text is one line that says why.

    ``result`` holds the same as a run that failed.
    """

    def __init__(self, text: str, result: RunResult) -> None:
        super().__init__(text)
        self.result = result


def run(request: RunRequest, progress: Progress = lambda _text: None, server: Server | None = None) -> RunResult:
    """Run the target of ``request.file`` in a worker process, or in a fork of the one that ``server`` keeps.

    ``progress`` gets short phrases. Whatever the user's code does ends as an outcome with one line of detail. Raises
    InputSpecError before anything runs, and NotStarted where ``server`` cannot begin. When this returns or raises, no
    process of the worker is left; with ``server``, what the code left behind ends with the server.
    """
    parse_inputs(request.inputs)
    parse_variations(request.vary)
    if server is not None:
        try:
            process = server.begin(dump_request(request))
        except OSError as error:
            failed = RunResult((_failed(request, "exited", str(error)),))
            raise NotStarted(f"the worker did not start: {error}", failed) from error
        worker = _Worker(request, process, progress, forked=True)
        done = False
        try:
            worker.watch()
            done = worker.gone
        finally:
            if not done:
                server.stop()
        if not worker.started:
            raise NotStarted(f"the worker did not start: {worker.failure}", worker.result())
        return worker.result()
    with tempfile.TemporaryDirectory(prefix="graphdoctor-", ignore_cleanup_errors=True) as folder:
        file = Path(folder) / "request.json"
        file.write_text(dump_request(request), encoding="utf-8")
        worker = _Worker(request, Process("main", str(file), Path(folder), variables=PATIENT), progress)
        try:
            worker.watch()
        finally:
            worker.stop()
        return worker.result()


class _Worker:
    """One request in a worker process, and what was said of it so far."""

    def __init__(self, request: RunRequest, process: Process, progress: Progress, forked: bool = False) -> None:
        self._request = request
        self._process = process
        self._progress = progress
        self._forked = forked
        self._stage = "the worker was started"
        self._runs: dict[str, DynamicRun] = {}
        self._open: str | None = None
        self._environment: Mapping[str, str | None] = {}
        self._varied: list[Varied] = []
        self._ended = False
        #: The worker has the request: what happens from now on may be the doing of the user's code.
        self.started = False
        #: The fork that had the request is no more.
        self.gone = False
        self._failure: tuple[Outcome, str] | None = None
        #: It met a limit, and does not come to an end by itself.
        self._stopped = False
        self._pending = b""
        self._output = b""
        self._deadline = time.monotonic() + request.timeout

    def watch(self) -> None:
        """Read until the worker is done, dies, takes too long or too much memory."""
        assert self._process.popen.stdout is not None
        with selectors.DefaultSelector() as selector:
            for descriptor, handler in (
                (self._process.results, self._on_results),
                (self._process.popen.stdout.fileno(), self._on_output),
            ):
                os.set_blocking(descriptor, False)
                selector.register(descriptor, selectors.EVENT_READ, handler)
            weighed, pause = 0.0, _POLL
            while not (self.gone if self._forked else self._ended) and not self._stopped:
                dead = self._process.popen.poll() is not None
                for key, _ in selector.select(0 if dead else _POLL):
                    if not key.data(_read(key.fd)):
                        selector.unregister(key.fd)
                if dead and not self._ended:
                    self._drain()
                    if not self._ended:
                        self._failure = self._failure or self._death(self._process.popen.returncode)
                    break
                now = time.monotonic()
                if now > self._deadline:
                    self._stop_for("timeout", f"no result after {self._request.timeout:g} s, while {self._stage}")
                elif now - weighed > pause:
                    self._weigh()
                    weighed = time.monotonic()
                    pause = max(_POLL, (weighed - now) / _WEIGHING)

    def _weigh(self) -> None:
        used = self._process.tree.resident() >> 20
        if used > self._request.memory_mb:
            self._stop_for("memory", f"used {used} MiB, more than {self._request.memory_mb} MiB, while {self._stage}")

    def _drain(self) -> None:
        """What a dead worker left in the pipe of results."""
        while data := _read(self._process.results):
            self._on_results(data)

    def _drain_output(self) -> None:
        assert self._process.popen.stdout is not None
        while data := _read(self._process.popen.stdout.fileno()):
            self._on_output(data)

    def _on_output(self, data: bytes) -> bool:
        self._output = data[-_KEPT_OUTPUT:] if len(data) >= _KEPT_OUTPUT else (self._output + data)[-_KEPT_OUTPUT:]
        return bool(data)

    def _on_results(self, data: bytes) -> bool:
        *lines, self._pending = (self._pending + data).split(b"\n")
        for line in lines:
            self._on_message(json.loads(line))
        return bool(data)

    def _on_message(self, message: dict[str, Any]) -> None:
        kind = message["kind"]
        if kind == "progress":
            self.started = True
            self._stage = message["text"]
            self._progress(self._stage)
        elif kind == "environment":
            self._environment = message["environment"]
        elif kind == "run":
            run = load_run(message["run"])
            self._runs[run.mode] = run
            self._open = None if message["complete"] else run.mode
        elif kind == "varied":
            self._varied.append(load_varied(message["varied"]))
        elif kind == "failed":
            self._failure = message["outcome"], message["detail"]
        elif kind == "end":
            self._ended = True
        elif kind == "gone":
            self.gone = True
            # What the fork printed came before this message, and may be what explains its end.
            if not self._ended and self._failure is None:
                self._drain_output()
                self._failure = self._death(message["code"])

    def _stop_for(self, outcome: Outcome, detail: str) -> None:
        self._failure = outcome, detail
        self._stopped = True

    def _death(self, code: int) -> tuple[Outcome, str]:
        """What to say of a worker that died without a word."""
        if code < 0:
            with contextlib.suppress(ValueError):
                name = signal.Signals(-code).name
                return "crashed", f"killed by {name} while {self._stage}{self._last_line()}"
            return "crashed", f"killed by signal {-code} while {self._stage}"
        return "exited", f"the process ended with code {code} while {self._stage}{self._last_words()}"

    def _last_line(self) -> str:
        """The innermost Python line that faulthandler saw, else what the process said last."""
        with contextlib.suppress(OSError):
            for line in (self._process.folder / "crash.txt").read_text(errors="replace").splitlines():
                if line.startswith("  File "):
                    return f" (at {line.strip()})"
        return self._last_words()

    def _last_words(self) -> str:
        lines = self._output.decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f'; its last line was "{last}"' if last.isprintable() and last else ""

    @property
    def failure(self) -> str:
        """Why there is no complete result, in one line; empty where there is one."""
        return self._failure[1] if self._failure else ""

    def stop(self) -> None:
        """Kill the whole tree and close the pipes."""
        self._process.stop()

    def result(self) -> RunResult:
        """The runs so far; a failure ends the run that was going on, or stands alone."""
        if self._failure is not None:
            outcome, detail = self._failure
            if self._open is not None:
                self._runs[self._open] = replace(self._runs[self._open], outcome=outcome, detail=detail)
            elif not self._runs:
                run = _failed(self._request, outcome, detail)
                self._runs[run.mode] = run
        return RunResult(tuple(self._runs.values()), self._environment, tuple(self._varied))


def _failed(request: RunRequest, outcome: Outcome, detail: str) -> DynamicRun:
    """The run of a worker that came to an end before it said anything."""
    mode: Mode = "train" if request.mode == "train" else "eval"
    device = request.device if request.device != "auto" else "unknown device"
    return DynamicRun(request.target or request.file.name, mode, device, outcome, detail)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return b""
