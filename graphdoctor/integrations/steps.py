"""A recording of the first steps of a training, which any trainer's callback can drive."""

from __future__ import annotations

import os
import sys

from graphdoctor.in_process.recording import record


class FirstSteps:
    """Records from ``start`` on, and reports once, on stderr, after ``steps`` steps or when training ends."""

    def __init__(self, steps: int, html: str | os.PathLike[str] | None) -> None:
        if steps < 1:
            raise ValueError(f"steps is the number of steps after which to report, at least 1, and not {steps!r}")
        self._wanted = steps
        self._html = html
        self._done = 0
        self._recording = False
        self.record = record()

    def start(self) -> None:
        """Begin to record, for one training."""
        self.close()
        self._done, self.record = 0, record()
        self.record.__enter__()
        self._recording = True

    def step(self, tells: bool) -> None:
        """A step is done. Only the process for which ``tells`` is true reports."""
        self._done += 1
        if self._done >= self._wanted:
            self.finish(tells)

    def finish(self, tells: bool) -> None:
        """Report, where that was not done."""
        if not self._recording:
            return
        self.close()
        if not tells:
            return
        steps = f"{self._done} step" if self._done == 1 else f"{self._done} steps"
        print(f"graphdoctor, {steps}: {self.record!r}", file=sys.stderr)
        if self._html is not None:
            self.record.save_html(self._html)

    def close(self) -> None:
        """Stop to record."""
        if self._recording:
            self._recording = False
            self.record.__exit__(None, None, None)
