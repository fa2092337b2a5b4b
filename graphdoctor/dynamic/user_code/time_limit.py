"""A limit for code that may never end, such as a loop until a tensor is small that is given an infinity."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class TooLong(BaseException):
    """The code did not end in time. No ``Exception``, so that code which catches those ends too."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise ``TooLong`` inside the block after ``seconds``, once Python runs again.

    Without effect outside of the main thread and where the system has no timers.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
