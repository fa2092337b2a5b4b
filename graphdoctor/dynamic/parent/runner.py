"""The parent side of the dynamic pass: start the worker, watch it, collect its messages, leave no process behind."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from graphdoctor.breaks.messages import one_line
from graphdoctor.dynamic.parent import stages
from graphdoctor.dynamic.parent.input_specs import InputSpecError, parse_inputs
from graphdoctor.dynamic.parent.protocol import (
    MESSAGES,
    Ended,
    Environment,
    Failed,
    Run,
    RunRequest,
    RunResult,
    VariedInputs,
    dump_request,
)
from graphdoctor.dynamic.parent.protocol import Progress as ProgressMessage
from graphdoctor.dynamic.parent.sample import declares_sample
from graphdoctor.dynamic.parent.server import PATIENT, Job, Process, Server
from graphdoctor.dynamic.parent.vary_specs import parse_variations
from graphdoctor.dynamic.parent.watch import Limits, Watch, signal_name
from graphdoctor.model.runs import DynamicRun, Frame, Outcome, Varied
from graphdoctor.target_torch.installed import torch_available

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
Decided = Callable[[RunResult], None]
Mode = Literal["eval", "train"]

#: Characters of a detail.
_LONGEST = 2000


class NotStarted(Exception):
    """The server's process did not come up, so nothing is known about the code; the text is the reason, one line.

    ``result`` holds the same as a run that failed.
    """

    def __init__(self, text: str, result: RunResult) -> None:
        super().__init__(text)
        self.result = result


def run(
    request: RunRequest,
    progress: Progress = lambda _text: None,
    server: Server | None = None,
    decided: Decided = lambda _result: None,
) -> RunResult:
    """Run the target of ``request.file`` in a worker process, or in a fork of the one that ``server`` keeps.

    ``progress`` gets short phrases, and ``decided`` what is known when the first stage after the verdict begins.
    Whatever the user's code does ends as an outcome with one line of detail. Raises InputSpecError before anything
    runs, and NotStarted where ``server`` cannot begin. When this returns or raises, no process of the worker is left;
    with ``server``, what the code left behind ends with the server.
    """
    parse_inputs(request.inputs)
    parse_variations(request.vary)
    if server is not None:
        try:
            job = server.begin(dump_request(request))
        except OSError as error:
            failed = RunResult((_failed(request, "exited", str(error)),))
            raise NotStarted(f"the worker did not start: {error}", failed) from error
        worker = _Worker(request, job, progress, decided)
        try:
            worker.watch()
        finally:
            job.close()
            if not worker.gone:
                server.end(worker.started)
        if not worker.started:
            raise NotStarted(f"the worker did not start: {worker.failure}", worker.result())
        return worker.result()
    with tempfile.TemporaryDirectory(prefix="graphdoctor-", ignore_cleanup_errors=True) as folder:
        file = Path(folder) / "request.json"
        file.write_text(dump_request(request), encoding="utf-8")
        process = Process("main", str(file), Path(folder), variables=PATIENT)
        try:
            worker = _Worker(request, Job.alone(process), progress, decided)
            worker.watch()
        finally:
            process.stop()
        return worker.result()


class _Worker:
    """One request in a worker process, and its messages so far."""

    def __init__(self, request: RunRequest, job: Job, progress: Progress, decided: Decided) -> None:
        self._request = request
        self._watch = Watch(job, MESSAGES, self._on_message)
        self._progress = progress
        self._decided: Decided | None = decided if request.part == "all" else None
        self._stage = "the worker was started"
        self._runs: dict[str, DynamicRun] = {run.mode: run for run in request.runs}
        self._open: str | None = None
        self._environment: Mapping[str, str | None] = {}
        self._varied: dict[str, Varied] = {}
        #: The worker has the request: what happens from now on may be the doing of the user's code.
        self.started = False
        #: The process that had the request is no more.
        self.gone = False
        self._failure: tuple[Outcome, str] | None = None
        self._raised_at: Frame | None = None

    def watch(self) -> None:
        """Read until the worker is done, dies, takes too long or too much memory."""
        end = self._watch.run(Limits(self._request.timeout, self._request.memory_mb))
        self.gone = end.gone
        if end.kind == "timeout":
            self._failure = "timeout", f"no result after {end.detail}, while {self._stage}"
        elif end.kind == "memory":
            self._failure = "memory", f"{end.detail}, while {self._stage}"
        elif end.kind == "garbage":
            self._failure = "crashed", f"the worker's messages were damaged while {self._stage}: {end.detail}"
        elif end.kind == "died":
            self._failure = self._failure or self._death(end.code)
        elif self._failure is None and (self._open is not None or not (self._runs or self._varied)):
            self._failure = "crashed", f"the worker said that it was done, and was not, while {self._stage}"

    def _on_message(self, message: object) -> bool:
        if isinstance(message, ProgressMessage):
            self.started = True
            self._stage = one_line(message.text)
            if self._decided is not None and self._stage.startswith(tuple(stages.SHARES)):
                self._decided(self.result())
                self._decided = None
            self._progress(self._stage)
        elif isinstance(message, Environment):
            self._environment = message.environment
        elif isinstance(message, Run):
            self._runs[message.run.mode] = message.run
            self._open = None if message.complete else message.run.mode
        elif isinstance(message, VariedInputs):
            self._varied[message.varied.mode] = message.varied
        elif isinstance(message, Failed):
            self._failure = message.outcome, one_line(message.detail, _LONGEST)
            self._raised_at = message.raised_at
        return isinstance(message, Ended)

    def _death(self, code: int) -> tuple[Outcome, str]:
        """The detail for a worker that died without a message."""
        if code < 0:
            return "crashed", f"killed by {signal_name(code)} while {self._stage}{self._watch.last_line()}"
        return "exited", f"the process ended with code {code} while {self._stage}{self._watch.last_words()}"

    @property
    def failure(self) -> str:
        """Why there is no complete result, in one line; empty where there is one."""
        return self._failure[1] if self._failure else ""

    def result(self) -> RunResult:
        """The runs so far; a failure ends the run that was going on, or stands alone."""
        if self._failure is not None:
            outcome, detail = self._failure
            if self._open is None and self._runs:
                # The breaks are known, and nothing that comes later takes them away.
                run = self._runs[mode_of(self._stage, tuple(self._runs))]
                line = left_out(self._stage, outcome, detail)
                self._runs[run.mode] = replace(run, left_out=(*run.left_out, line))
            elif self._open is not None:
                self._runs[self._open] = replace(self._runs[self._open], outcome=outcome, detail=detail)
            else:
                run = replace(_failed(self._request, outcome, detail), raised_at=self._raised_at)
                self._runs[run.mode] = run
        return RunResult(tuple(self._runs.values()), self._environment, tuple(self._varied.values()))


def mode_of(stage: str, modes: Sequence[str]) -> str:
    """The one of ``modes`` that ``stage`` names, as in ``counting recompiles (eval)``; the last where it names none."""
    return next((mode for mode in modes if f"({mode})" in stage), modes[-1])


def left_out(stage: str, outcome: Outcome, detail: str) -> str:
    """The line for a ``stage`` after the verdict that ended with ``outcome``."""
    ended = "stopped" if outcome in ("timeout", "memory") else outcome
    return f"{stage}: {ended}, {detail.replace(f', while {stage}', '')}"


def _failed(request: RunRequest, outcome: Outcome, detail: str) -> DynamicRun:
    """The run of a worker that ended before its first message."""
    mode: Mode = "train" if request.mode == "train" else "eval"
    device = request.device if request.device != "auto" else "unknown device"
    return DynamicRun(request.target or request.file.name, mode, device, outcome, detail)
