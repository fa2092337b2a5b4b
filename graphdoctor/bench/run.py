"""The benchmark: each strategy in a process of its own, one after another, and what there is when it ends early.

The processes are forks of one that has imported torch, and has not run the code that is measured.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from graphdoctor.bench.strategies import share, why_not
from graphdoctor.dynamic.parent import runner
from graphdoctor.dynamic.parent.device_choice import again_on_cpu, mixes_devices, why_on_cpu
from graphdoctor.dynamic.parent.measuring import ask
from graphdoctor.dynamic.parent.protocol import BadMessage
from graphdoctor.dynamic.parent.protocol import Progress as ProgressMessage
from graphdoctor.model.benchmark import Bench, Measured, Options, Question, Result, Where

Progress = Callable[[str], None]
_WORKER = "graphdoctor.bench.worker"
_TWINS = {"reduce-overhead": "default", "max-autotune": "max-autotune-no-cudagraphs"}

#: No strategy can be measured in less than this, in seconds: building the model and the first compile take longer.
_TOO_SHORT = 1


def bench(
    question: Question,
    options: Options,
    progress: Progress = lambda _text: None,
    server: runner.Server | None = None,
) -> Bench:
    """Measure the strategies of ``options`` on the target of ``question``, in forks of ``server`` or of a new one.

    Failures of the user's code, the time limit and Ctrl-C end as results and as ``ended``, never as an exception.
    """
    if server is None:
        # How its threads wait for work is a part of the times, so it has no variables that the user has not set.
        with runner.Server(variables={}) as server:
            return bench(question, options, progress, server)
    session = _Session(question, options, progress, server)
    started = time.monotonic()
    ended = ""
    with tempfile.TemporaryDirectory(prefix="graphdoctor-", ignore_cleanup_errors=True) as folder:
        try:
            for number, strategy in enumerate(options.strategies, 1):
                session.measure(strategy, Path(folder), options.strategies[number:])
        except KeyboardInterrupt:
            ended = "interrupted"
    session.look()
    return Bench(
        target=session.target,
        mode=question.mode,
        backend=options.backend,
        results=tuple(session.results.values()),
        environment=session.environment,
        ended=ended or session.ended,
        seconds=time.monotonic() - started,
        load=session.load,
        device_note=session.device_note,
    )


class _Session:
    """The results so far, by strategy."""

    def __init__(self, question: Question, options: Options, progress: Progress, server: runner.Server) -> None:
        self._question = question
        self._options = options
        self._progress = progress
        self._server = server
        self._started = time.monotonic()
        self.results: dict[str, Result] = {}
        self.environment: Mapping[str, str | None] = {}
        self.target = question.target or question.file.name
        self.ended = ""
        self.load = 0.0
        self.device_note = ""

    def look(self) -> None:
        """Keep the most load that was seen."""
        self.load = max(self.load, os.getloadavg()[0])

    def measure(self, strategy: str, folder: Path, later: Sequence[str]) -> None:
        """Add the result of ``strategy``; the strategies that come ``later`` need time, too."""
        self.look()
        reason = self._why_not(strategy)
        if strategy == "cache" and not reason and not any(folder.glob("artifacts.bin")):
            reason = "the default strategy left no cache artifacts"
        others = any(self._why_not(other) is None for other in later)
        spent = time.monotonic() - self._started
        allowed = share(strategy, self._options.time_limit - spent, others)
        if not reason and allowed < _TOO_SHORT:
            reason = "out of time"
            self._out_of_time()
        if reason:
            self.results[strategy] = Result(strategy, "skipped", reason)
            return
        place = f"{self._options.strategies.index(strategy) + 1} of {len(self._options.strategies)}"
        self._progress(f"{strategy} ({place}, after {spent:.0f} s; at most {allowed:.0f} s)")
        extra: dict[str, Any] = {
            "strategy": strategy,
            "backend": self._options.backend,
            "seconds": self._options.seconds,
            "folder": str(folder),
        }
        # Until the worker has ended this is what is known; Ctrl-C leaves it.
        self.results[strategy] = Result(strategy, "interrupted", "interrupted")
        started = time.monotonic()
        failure = self._ask(extra, allowed)
        result = self.results[strategy]
        if failure is not None and time.monotonic() - started >= allowed:
            self._out_of_time()
            self.results[strategy] = replace(result, detail=f"out of time after {allowed:.0f} s")
        elif failure is not None:
            self.results[strategy] = replace(result, status="failed", detail=failure)
        elif result.status == "interrupted":
            self.results[strategy] = replace(result, status="ok", detail="")

    def _ask(self, extra: Mapping[str, Any], allowed: float) -> str | None:
        """Why the last strategy was not measured to its end. Where the chosen GPU does not suit the code, on the CPU.

        eager comes first, and finds that out for all the others.
        """
        question, started = self._question, time.monotonic()

        def asked(device: str, seconds: float) -> str | None:
            asked_for = replace(question, device=device, extra=extra)
            return ask(_WORKER, asked_for, seconds, {"run": Measured}, self._on_message, self._server)

        failure = asked(question.device, allowed)
        left = allowed - (time.monotonic() - started)
        if failure is None or extra["strategy"] != "eager" or left < _TOO_SHORT:
            return failure
        if question.device != "auto" or self._on_cpu() or not mixes_devices(failure):
            return failure
        environment, results = self.environment, dict(self.results)
        device = environment.get("device") or "a GPU"
        self._progress(again_on_cpu(device))
        if asked("cpu", left) is not None:
            self.environment, self.results = environment, results
            return failure
        self._question, self.device_note = replace(question, device="cpu"), why_on_cpu(device, failure)
        return None

    def _on_cpu(self) -> bool:
        return (self.environment.get("device") or "").startswith("cpu")

    def _out_of_time(self) -> None:
        self.ended = f"the time limit of {self._options.time_limit:g} s was too short for all strategies"

    def _why_not(self, strategy: str) -> str | None:
        return why_not(strategy, self._question.mode, self._options.backend) or self._twin(strategy) or self._unmade()

    def _twin(self, strategy: str) -> str | None:
        """Why it is left out: on a CPU CUDA graphs do nothing, so a mode that differs only in them repeats another."""
        return f"the same as {_TWINS[strategy]} on a CPU" if self._on_cpu() and strategy in _TWINS else None

    def _unmade(self) -> str | None:
        """Why nothing more is measured: the worker for eager ended before it had a model, as all others would."""
        eager = self.results.get("eager")
        unmade = eager is not None and eager.status == "failed" and not self.environment
        return "there is no model to measure" if unmade else None

    def _on_message(self, message: object) -> None:
        if isinstance(message, ProgressMessage):
            self._progress(message.text)
        elif isinstance(message, Where):
            self.environment, self.target = message.environment, message.target
        elif isinstance(message, Measured):
            result = message.result
            # The results so far are of the strategies that were begun, and the last of them is the one that runs.
            if result.strategy != next(reversed(self.results)):
                raise BadMessage("a result of another strategy")
            if result.status == "ok":
                result = replace(result, status="interrupted", detail="interrupted")
            self.results[result.strategy] = result
