"""The worker's end of the pipe on which it reports. What the user's code does to the process must not reach it.

The code may close every descriptor, open files that get their numbers, and replace functions of ``os`` and ``json``. So
the functions are kept here before it is imported, the descriptor has a high number, and before each message it is asked
whether it is still the same pipe.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graphdoctor.dynamic.parent.protocol import TEXT_LIMIT, Kind

#: A high number, which files that the user's code opens do not get by themselves.
_HIGH = 200

#: The name of the crash file, which lies beside the file of the request.
CRASHES = "crash.txt"
#: How the line of that file begins in which the worker itself writes why it ends.
WHY = "graphdoctor: "

_close, _exit, _fstat, _getpid, _open, _write = os.close, os._exit, os.fstat, os.getpid, os.open, os.write
_encode = json.JSONEncoder().encode


class Channel:
    """JSON lines to the parent. A child that the user's code forks must not speak for the worker, so it ends here.

    Where the pipe is lost the process ends, and a line in the file ``crashes`` says so.
    """

    def __init__(self, descriptor: int, crashes: Path | None = None) -> None:
        self._descriptor = moved_up(descriptor)
        self._crashes = crashes
        self._pid = _getpid()
        self._pipe = _identity(self._descriptor)

    def send(self, kind: Kind, **data: Any) -> None:
        """Write one line."""
        if _getpid() != self._pid:
            _exit(0)
        line = _encode({"kind": kind, **_bounded(data)}).encode() + b"\n"
        while line:
            if _identity(self._descriptor) != self._pipe:
                self._lose()
            try:
                line = line[_write(self._descriptor, line) :]
            except BlockingIOError:  # the user's code made it so
                os.set_blocking(self._descriptor, True)
            except OSError:
                self._lose()

    def progress(self, text: str) -> None:
        """Report what is done next."""
        self.send("progress", text=text)

    def close(self) -> None:
        """Close the pipe, in a fork that has one of its own."""
        _close(self._descriptor)

    def _lose(self) -> None:
        try:
            # Where no more files may be open, this makes room for one.
            with contextlib.suppress(OSError):
                _close(self._descriptor)
            if self._crashes is not None:
                explain(self._crashes, "the code closed or replaced the descriptor of the results")
        finally:
            _exit(1)


@contextlib.contextmanager
def ending(crashes: Path) -> Iterator[None]:
    """End the process after the ``with``, whatever happened in it; a line in ``crashes`` has the error.

    Nothing of the user's code runs any more: exit handlers, threads and ``__del__`` may hang, print or raise.
    """
    code = 1
    try:
        yield
        code = 0
    except BaseException as error:
        # Exceptions of the code are results, so this is what it did to Python, torch or the process.
        with contextlib.suppress(BaseException):
            explain(crashes, f"{type(error).__name__}: {error}")
    finally:
        _exit(code)


def explain(crashes: Path, text: str) -> None:
    """Write why the worker ends where the parent looks for it: standard error may be a file of the user's by now."""
    line = WHY + " ".join(text[:TEXT_LIMIT].split())
    _write(_open(str(crashes), os.O_WRONLY | os.O_CREAT | os.O_APPEND), f"{line}\n".encode("utf-8", "replace"))


def moved_up(descriptor: int) -> int:
    """``descriptor`` under a number that is not in the way, and that programs which are started do not inherit."""
    import fcntl

    try:
        high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    except OSError:  # so many are not allowed
        os.set_inheritable(descriptor, False)
        return descriptor
    _close(descriptor)
    return high


def _identity(descriptor: int) -> tuple[int, int] | None:
    try:
        state = _fstat(descriptor)
    except OSError:
        return None
    return state.st_dev, state.st_ino


def _bounded(value: Any) -> Any:
    """``value`` with texts that are longer than anybody reads cut: names and messages are the user's."""
    if isinstance(value, str):
        return value if len(value) <= TEXT_LIMIT else f"{value[:TEXT_LIMIT]}…"
    if isinstance(value, dict):
        return {_bounded(key): _bounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_bounded(item) for item in value]
    return value
