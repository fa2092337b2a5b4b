"""Watching a worker process until it is done, dies or meets a limit. Only valid messages of it are believed."""

from __future__ import annotations

import os
import re
import selectors
import signal
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from typing import Any, Literal

from graphdoctor.breaks.locations import is_installed
from graphdoctor.dynamic.parent.channel import WHY
from graphdoctor.dynamic.parent.protocol import BadMessage, Gone, Kinds, message
from graphdoctor.dynamic.parent.server import Job
from graphdoctor.source.files import open_regular

#: Seconds between two looks at memory and life of the worker, and the share of the time that weighing it may take.
_POLL = 0.1
_WEIGHING = 0.05
#: Bytes that are read from a pipe at once, of the user's output those that are kept (the last ones), and of one message
#: those that are read.
_CHUNK = 1 << 16
_KEPT_OUTPUT = 1 << 10
MESSAGE_LIMIT = 64 << 20
#: How many chunks are read of a pipe whose writers have ended, since other processes may write to it for ever.
_LEFT = 64
#: Bytes that are read of the file that faulthandler writes.
_CRASH_TEXT = 1 << 16
#: A frame in that file, and where Python's own library is.
_FRAME = re.compile(r'  File "(?P<path>.+)", line (?P<line>\d+) in (?P<name>.+)')
_LIBRARY = os.path.join(sysconfig.get_path("stdlib"), "")


@dataclass(frozen=True)
class Limits:
    """Seconds from now for the whole job, and MiB of resident memory for all processes of the worker."""

    seconds: float
    memory_mb: int


@dataclass(frozen=True)
class End:
    """How a job ended.

    ``done``: it said so. ``died``: it did not; ``code`` is what the process ended with, negative for a signal.
    ``timeout`` and ``memory``: a limit was met. ``garbage``: what came over its pipe is not what a worker says.
    ``detail`` is a clause. ``gone``: its process is no more.
    """

    kind: Literal["done", "died", "timeout", "memory", "garbage"]
    detail: str = ""
    code: int = 0
    gone: bool = True


class Watch:
    """One job, and what is known of it so far. ``kinds`` are the messages that it may send."""

    def __init__(self, job: Job, kinds: Kinds, on_message: Callable[[Any], bool]) -> None:
        self._job = job
        self._kinds = kinds
        self._on_message = on_message
        self._results = _Lines()
        self._control = _Lines()
        self._output = b""
        self._done = False
        self._code: int | None = None

    def run(self, limits: Limits) -> End:
        """Read until the job is done. ``on_message`` gets each message, and gives True for the last one.

        A job in a fork is done when its process is, so that the next one does not come upon it.
        """
        deadline = time.monotonic() + limits.seconds
        weighed, pause = 0.0, _POLL
        try:
            with selectors.DefaultSelector() as selector:
                for descriptor, read in self._readers():
                    os.set_blocking(descriptor, False)
                    selector.register(descriptor, selectors.EVENT_READ, read)
                while (end := self._end()) is None:
                    dead = self._job.process.popen.poll()
                    for key, _ in selector.select(0 if dead is not None else _POLL):
                        if not key.data(_read(key.fd)):
                            selector.unregister(key.fd)
                    if dead is not None and self._end() is None:
                        self._drain()
                        return End("done") if self._done else End("died", code=dead)
                    now = time.monotonic()
                    if now > deadline:
                        return End("timeout", f"{limits.seconds:g} s", gone=False)
                    if now - weighed > pause:
                        if (used := self._job.process.tree.resident() >> 20) > limits.memory_mb:
                            return End("memory", f"used {used} MiB, more than {limits.memory_mb} MiB", gone=False)
                        weighed = time.monotonic()
                        pause = max(_POLL, (weighed - now) / _WEIGHING)
                return end
        except BadMessage as error:
            return End("garbage", str(error), gone=False)

    def _readers(self) -> Iterator[tuple[int, Callable[[bytes], bool]]]:
        assert self._job.process.popen.stdout is not None
        yield self._job.results, self._on_results
        yield self._job.process.popen.stdout.fileno(), self._on_output
        if self._job.control is not None:
            yield self._job.control, self._on_control

    def _end(self) -> End | None:
        if self._job.control is None:
            return End("done") if self._done else None
        if self._code is None:
            return None
        # Messages and output that the fork sent before it ended may explain why it did.
        self._drain()
        return End("done") if self._done else End("died", code=self._code)

    def _drain(self) -> None:
        for descriptor, read in list(self._readers())[:2]:
            for _ in range(_LEFT):
                if not (data := _read(descriptor)):
                    break
                read(data)

    def _on_results(self, data: bytes) -> bool:
        for line in self._results.lines(data) if not self._done else ():
            self._done = self._on_message(message(line, self._kinds))
            if self._done:
                break
        return bool(data)

    def _on_control(self, data: bytes) -> bool:
        for line in self._control.lines(data):
            gone: Gone = message(line, {"gone": Gone})
            self._code = gone.code
        return bool(data)

    def _on_output(self, data: bytes) -> bool:
        self._output = (self._output + data)[-_KEPT_OUTPUT:]
        return bool(data)

    def last_line(self) -> str:
        """The innermost Python line that faulthandler saw, else the last output of the process; a clause, or empty."""
        return innermost(self._crashes()) or self.last_words()

    def last_words(self) -> str:
        """Why the worker ended itself, or the last line that the process printed, as a clause; else empty."""
        for line in self._crashes():
            if line.startswith(WHY):
                return f": {line.removeprefix(WHY)}"
        lines = self._output.decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f'; its last line was "{last}"' if last.isprintable() and last else ""

    def _crashes(self) -> list[str]:
        try:
            with open_regular(self._job.process.crashes) as stream:
                return stream.read(_CRASH_TEXT).decode(errors="replace").splitlines()
        except OSError:
            return []


def innermost(crash: Sequence[str]) -> str:
    """The innermost line of the first stack in what faulthandler wrote, outside of packages where there is one."""
    frames = (_FRAME.fullmatch(line) for line in crash)
    stack = [found for found in takewhile(bool, dropwhile(lambda found: not found, frames)) if found]
    own = (f for f in stack if not is_installed(f["path"]) and not f["path"].startswith(_LIBRARY))
    frame = next(own, stack[0] if stack else None)
    return f" (at {frame['path']}:{frame['line']} in {frame['name']})" if frame is not None else ""


class _Lines:
    """Cuts what comes in pieces into lines."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def lines(self, data: bytes) -> Iterator[bytes]:
        """The lines that end in ``data``. Raises BadMessage where one has no end."""
        first, *rest = data.split(b"\n")
        self._pending += first
        for part in rest:
            yield bytes(self._pending)
            self._pending = bytearray(part)
        if len(self._pending) > MESSAGE_LIMIT:
            raise BadMessage(f"a message of more than {MESSAGE_LIMIT >> 20} MiB")


def signal_name(code: int) -> str:
    """The signal behind a negative exit code: ``SIGSEGV``, or ``signal 40`` where it has no name."""
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return b""
