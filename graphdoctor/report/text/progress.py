"""The line of progress on stderr: what graphdoctor is doing and for how long. Only on a terminal."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TextIO

from graphdoctor.model.activity import Activity
from graphdoctor.report.escaping import one_line, visible

_CLEAR = "\r\x1b[2K"


class _Ticker(threading.Thread):
    """The thread that counts the seconds. A fork waits until it writes nothing: what it locks is free in the copy."""

    fork_safe = True


class Progress:
    """A context manager that is called with each new activity, and clears its line at the end.

    A thread counts the seconds, because the caller waits for the run in between. When ``stream`` is not a terminal
    nothing is written and no thread is started.
    """

    def __init__(self, stream: TextIO, interval: float = 1.0) -> None:
        self._stream = stream
        self._interval = interval
        self._on = stream.isatty()
        self._activity = ""
        self._of = ""
        self._since = time.monotonic()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __call__(self, activity: str) -> None:
        """Show ``activity``, counted from now; of a run, counted from its beginning, with its limit."""
        if not self._on:
            return
        with self._lock:
            self._activity = one_line(visible(activity))
            limit = activity.limit if isinstance(activity, Activity) else None
            began = activity.began if isinstance(activity, Activity) else None
            self._of = "" if limit is None else f" of at most {limit:g}"
            self._since = time.monotonic() if began is None else began
        self._draw()

    def say(self, lines: Sequence[str]) -> None:
        """Write lines that stay, whether ``stream`` is a terminal or not."""
        with self._lock:
            shown = "".join(f"{visible(line)}\n" for line in lines)
            if shown:
                self._stream.write((_CLEAR if self._on else "") + shown)
                self._stream.flush()

    def pause(self) -> None:
        """Clear the line until the next activity."""
        with self._lock:
            self._activity = ""
            if self._on:
                self._stream.write(_CLEAR)
                self._stream.flush()

    def __enter__(self) -> Progress:
        if self._on:
            if hasattr(os, "register_at_fork"):
                free = self._lock.release
                os.register_at_fork(before=self._lock.acquire, after_in_parent=free, after_in_child=free)
            self._thread = _Ticker(target=self._tick, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._stream.write(_CLEAR)
            self._stream.flush()

    def _tick(self) -> None:
        while not self._stop.wait(self._interval):
            self._draw()

    def _draw(self) -> None:
        with self._lock:
            if not self._activity:
                return
            seconds = time.monotonic() - self._since
            line = f"graphdoctor: {self._activity} ({seconds:.0f} s{self._of})"
            # A line that wraps cannot be cleared by one carriage return.
            self._stream.write(_CLEAR + line[: shutil.get_terminal_size().columns - 1])
            self._stream.flush()
