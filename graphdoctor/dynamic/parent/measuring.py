"""The parent side of a worker that measures: start it, pass on its messages, leave no process behind."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from graphdoctor.dynamic.parent.protocol import Ended, Kinds, Progress
from graphdoctor.dynamic.parent.server import Job, Process, Server
from graphdoctor.dynamic.parent.watch import End, Limits, Watch, signal_name
from graphdoctor.model.benchmark import Question, Refused, Where

#: MiB of resident memory.
_MEMORY_MB = 16384
#: Messages that every worker which runs the user's file may send.
_KINDS: Kinds = {"progress": Progress, "environment": Where, "failed": Refused, "end": Ended}


def dump(question: Question) -> str:
    """``question`` as JSON text, its paths absolute."""
    data = {**asdict(question), "file": str(question.file.resolve()), "root": str(question.root.resolve())}
    return json.dumps(data)


def load(text: str) -> Question:
    """The question that ``dump`` wrote."""
    data = json.loads(text)
    return Question(**{**data, "file": Path(data["file"]), "root": Path(data["root"]), "inputs": tuple(data["inputs"])})


def ask(
    module: str,
    question: Question,
    timeout: float,
    kinds: Kinds,
    on_message: Callable[[Any], None],
    server: Server | None = None,
) -> str | None:
    """Run ``module.main`` on ``question`` in a process with its own compiler caches, or in a fork of ``server``.

    ``on_message`` gets each message of the worker: what it does, where it runs, and those of ``kinds``; it may raise
    BadMessage. Gives None when the worker came to its end, else in one line why not. When this returns or raises, no
    process of the worker is left; with ``server``, what the code left behind ends with the server.
    """
    failure: list[str] = []
    started = False

    def receive(message: object) -> bool:
        nonlocal started
        started = True
        if isinstance(message, Refused):
            failure.append(message.detail)
        elif not isinstance(message, Ended):
            on_message(message)
        return isinstance(message, (Refused, Ended))

    gone = False
    with ExitStack() as cleanup:
        try:
            job = cleanup.enter_context(_job(module, question, server))
        except OSError as error:
            return f"the worker did not start: {error}"
        watch = Watch(job, {**_KINDS, **kinds}, receive)
        try:
            end = watch.run(Limits(timeout, _MEMORY_MB))
            gone = end.gone
        finally:
            if server is not None and not gone:
                server.end(started)
        return next(iter(failure), None) if end.kind == "done" else _failure(end, watch)


@contextmanager
def _job(module: str, question: Question, server: Server | None) -> Iterator[Job]:
    """The question, asked; nobody reads what comes after the ``with``."""
    if server is not None:
        job = server.begin(dump(question), module)
        try:
            yield job
        finally:
            job.close()
        return
    with tempfile.TemporaryDirectory(prefix="graphdoctor-", ignore_cleanup_errors=True) as folder:
        file = Path(folder) / "question.json"
        file.write_text(dump(question), encoding="utf-8")
        process = Process("main", str(file), Path(folder), module=module)
        try:
            yield Job.alone(process)
        finally:
            process.stop()


def _failure(end: End, watch: Watch) -> str:
    if end.kind == "died":
        how = f"killed by {signal_name(end.code)}" if end.code < 0 else f"the process ended with code {end.code}"
        return f"{how}{watch.last_line()}"
    if end.kind == "timeout":
        return f"stopped after {end.detail}: the time limit"
    return end.detail if end.kind == "memory" else f"the worker's messages were damaged: {end.detail}"
