"""The benchmark: each strategy in a process of its own, one after another, and what there is when it ends early."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from graphdoctor.bench.ask import Message, ask
from graphdoctor.bench.model import Bench, Options, Question, Result, result_of
from graphdoctor.bench.strategies import why_not

Progress = Callable[[str], None]
_TWINS = {"reduce-overhead": "default", "max-autotune": "max-autotune-no-cudagraphs"}


def bench(question: Question, options: Options, progress: Progress = lambda text: None) -> Bench:
    """Measure the strategies of ``options`` on the target of ``question``.

    Failures of the user's code, the time limit and Ctrl-C end as results and as ``ended``, never as an exception.
    """
    session = _Session(question, options, progress)
    ended = ""
    with tempfile.TemporaryDirectory(prefix="graphdoctor-") as folder:
        try:
            for number, strategy in enumerate(options.strategies, 1):
                progress(f"{strategy} ({number} of {len(options.strategies)})")
                session.measure(strategy, Path(folder))
        except KeyboardInterrupt:
            ended = "interrupted"
    return Bench(
        target=session.target,
        mode=question.mode,
        backend=options.backend,
        results=tuple(session.results.values()),
        environment=session.environment,
        ended=ended or session.ended,
    )


class _Session:
    """The results so far, by strategy."""

    def __init__(self, question: Question, options: Options, progress: Progress) -> None:
        self._question = question
        self._options = options
        self._progress = progress
        self._deadline = time.monotonic() + options.time_limit
        self.results: dict[str, Result] = {}
        self.environment: Mapping[str, str | None] = {}
        self.target = question.target or question.file.name
        self.ended = ""

    def measure(self, strategy: str, folder: Path) -> None:
        """Add the result of ``strategy``."""
        reason = why_not(strategy, self._question.mode, self._options.backend) or self._twin(strategy)
        if strategy == "cache" and not reason and not any(folder.glob("artifacts.bin")):
            reason = "the default strategy left no cache artifacts"
        left = self._deadline - time.monotonic()
        if not reason and left < 1:
            reason = self.ended = f"the time limit of {self._options.time_limit:g} s was reached"
        if reason:
            self.results[strategy] = Result(strategy, "skipped", reason)
            return
        extra = {
            "strategy": strategy,
            "backend": self._options.backend,
            "seconds": self._options.seconds,
            "folder": str(folder),
        }
        # Until the worker has ended this is what is known; Ctrl-C leaves it.
        self.results[strategy] = Result(strategy, "interrupted", "interrupted")
        failure = ask("graphdoctor.bench.worker", replace(self._question, extra=extra), left, self._said)
        result = self.results[strategy]
        if failure is not None:
            self.results[strategy] = replace(result, status="failed", detail=failure)
        elif result.status == "interrupted":
            self.results[strategy] = replace(result, status="ok", detail="")

    def _twin(self, strategy: str) -> str | None:
        """On a CPU CUDA graphs do nothing, so a mode that differs only in them is another one again."""
        on_cpu = (self.environment.get("device") or "").startswith("cpu")
        return f"the same as {_TWINS[strategy]} on a CPU" if on_cpu and strategy in _TWINS else None

    def _said(self, message: Message) -> None:
        if message["kind"] == "progress":
            self._progress(message["text"])
        elif message["kind"] == "environment":
            self.environment, self.target = message["environment"], message["target"]
        elif message["kind"] == "run":
            result = result_of(message["result"])
            if result.status == "ok":
                result = replace(result, status="interrupted", detail="interrupted")
            self.results[result.strategy] = result
