"""Puts the parts of the recorder in place, in a process that has just imported torch."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from types import TracebackType

from graphdoctor.recorder import torch_hooks
from graphdoctor.recorder.settings import Settings
from graphdoctor.recorder.trace_file import TraceFile


def install(settings: Settings) -> None:
    """Record from now on. Raises what the private parts of another torch may raise."""
    Path(settings.folder, f"imported_torch_{os.getpid()}").touch()
    trace_file = TraceFile(settings.folder)
    torch_hooks.listen(trace_file)
    torch_hooks.watch_lines(trace_file.traced, trace_file.last)
    # A backend that has no backward graphs leaves no other trace of training.
    torch_hooks.watch_backward(lambda: trace_file.note("graphdoctor_trains", {}))
    watch_errors(trace_file)
    if settings.steps or settings.sample_bytes or settings.compile:
        from graphdoctor.recorder.compiled_calls import watch_calls

        watch_calls(settings, trace_file)


def watch_errors(trace_file: TraceFile) -> None:
    """Note the exception that ends the program."""
    original = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        # An exception of the program may fail to make its text.
        with contextlib.suppress(Exception):
            if not issubclass(kind, KeyboardInterrupt):
                lines = str(error).strip().splitlines() or [""]
                trace_file.note("graphdoctor_raised", {"type": kind.__name__, "message": lines[0]})
        original(kind, error, trace)

    sys.excepthook = excepthook
