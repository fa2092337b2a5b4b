"""How a command ends before it is done: Ctrl-C, and the signals by which the system or a shell ends a process.

Forked processes too: when there may be some, and that their parent ends them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TypeVar

T = TypeVar("T")


class Interrupts:
    """Ctrl-C ends the part of the work that takes long, and not the report of what is known by then.

    From ``hold`` on the first Ctrl-C is only remembered outside such parts, and the parts that come later are left out;
    a second one ends everything. Without ``listening`` nothing changes: Ctrl-C raises KeyboardInterrupt.
    """

    def __init__(self) -> None:
        #: Whether Ctrl-C was met.
        self.requested = False
        self._listens = False
        self._may_raise = True

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Take Ctrl-C over, where it has its usual effect."""
        usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if not usual or threading.current_thread() is not threading.main_thread():
            yield
            return
        self._listens = True
        signal.signal(signal.SIGINT, self._on_signal)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._listens = False

    def hold(self) -> None:
        """There is something to report from now on."""
        self._may_raise = False

    def attempt(self, work: Callable[[], T]) -> T | None:
        """What ``work`` gives; None where Ctrl-C ended it, or came before."""
        if self.requested:
            return None
        if not self._listens:
            return work()
        try:
            try:
                self._may_raise = True
                # Once more: it may have come in between.
                return None if self.requested else work()
            finally:
                self._may_raise = False
        except KeyboardInterrupt:
            self.requested = True
            return None

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        again, self.requested = self.requested, True
        if again or self._may_raise:
            # What is cleaned up now shall not be cut off by the same Ctrl-C that comes twice.
            self._may_raise = False
            raise KeyboardInterrupt


class Ended(BaseException):
    """A signal asked the process to end; raised so that temporary folders and processes go with it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def ending_cleanly() -> Iterator[None]:
    """Clean up before SIGTERM and SIGHUP end the process, which still ends by that signal.

    A signal that is ignored, as by nohup, or that has another handler is left alone.
    """
    taken = [number for number in _endings() if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, _frame: FrameType | None) -> None:
        for other in taken:
            signal.signal(other, signal.SIG_IGN)
        raise Ended(number)

    for number in taken:
        signal.signal(number, end)
    try:
        yield
    except Ended as error:
        signal.signal(error.number, signal.SIG_DFL)
        os.kill(os.getpid(), error.number)
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def end_at_once() -> None:
    """From now on SIGTERM and SIGHUP end the process as they do without ``ending_cleanly``."""
    for number in _endings():
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def _endings() -> list[signal.Signals]:
    return [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def leave_signals() -> None:
    """In a process of the pool: Ctrl-C, which all processes of a terminal get, is the parent's, which ends the pool."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def can_fork() -> bool:
    """Where the system can, and no other thread may hold a lock that the copy would wait for."""
    import multiprocessing
    import threading

    others = (thread for thread in threading.enumerate() if thread is not threading.main_thread())
    safe = all(getattr(thread, "fork_safe", False) for thread in others)
    return safe and "fork" in multiprocessing.get_all_start_methods()
