"""What torch's artifact loggers say while code runs (torch/_logging/_registrations.py)."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Sequence


class _Listener(logging.Handler):
    def __init__(self, messages: list[str]) -> None:
        super().__init__()
        self._messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        self._messages.append(record.getMessage())


@contextlib.contextmanager
def listen(loggers: Sequence[str]) -> Iterator[list[str]]:
    """Collect all messages of these loggers, in order, and leave the loggers as they were."""
    messages: list[str] = []
    handler = _Listener(messages)
    saved = []
    for name in loggers:
        logger = logging.getLogger(name)
        saved.append((logger, logger.level, logger.propagate))
        if logger.getEffectiveLevel() > logging.DEBUG:
            logger.propagate = False
        logger.setLevel(logging.DEBUG)
        logger.addHandler(handler)
    try:
        yield messages
    finally:
        for logger, level, propagate in saved:
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagate
