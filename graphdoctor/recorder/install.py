"""Puts the parts of the recorder in place, in a process that has just imported torch."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from pathlib import Path

from graphdoctor.recorder import torch_hooks
from graphdoctor.recorder.settings import Settings
from graphdoctor.recorder.trace_file import TraceFile

#: What the text of such an exception has before the guards, one a line (torch/_dynamo/guards.py, eval_frame.py).
_REFUSED = "triggered by the following guard failure(s):"
_MOST_GUARDS = 8


def install(settings: Settings) -> None:
    """Record from now on. Raises what the private parts of another torch may raise."""
    Path(settings.folder, f"imported_torch_{os.getpid()}").touch()
    trace_file = TraceFile(settings.folder)
    torch_hooks.listen(trace_file)
    torch_hooks.watch_lines(trace_file.traced, trace_file.last)
    # A backend that has no backward graphs leaves no other trace of training.
    torch_hooks.watch_backward(lambda: trace_file.note("graphdoctor_trains", {}))
    watch_errors(trace_file)
    atexit.register(_note_export, trace_file)
    if settings.steps or settings.sample_bytes or settings.compile:
        from graphdoctor.recorder.compiled_calls import watch_calls

        watch_calls(settings, trace_file)


def watch_errors(trace_file: TraceFile) -> None:
    """Note the exception that ends the program.

    Python keeps it, also where the program has an ``excepthook`` of its own.
    """
    atexit.register(_note_error, trace_file)


def _note_error(trace_file: TraceFile) -> None:
    error = getattr(sys, "last_value", None)
    # An exception of the program may fail to make its text.
    with contextlib.suppress(Exception):
        if error is not None and not isinstance(error, KeyboardInterrupt):
            lines = str(error).strip().splitlines() or [""]
            # "backend='inductor' raised:" is the first line of some.
            message = " ".join(lines[: 2 if lines[0].endswith(":") else 1])
            # What differed, where a call that had to be compiled again was refused.
            _, refused, guards = str(error).partition(_REFUSED)
            failed = [line.strip()[2:] for line in guards.splitlines() if line.strip().startswith("- ")]
            noted = {"guards": failed[:_MOST_GUARDS]} if refused else {}
            trace_file.note("graphdoctor_raised", {"type": type(error).__name__, "message": message, **noted})


def _note_export(trace_file: TraceFile) -> None:
    """Note that the program called ``torch.export``: torch loads what does the work in the first call."""
    with contextlib.suppress(Exception):
        if "torch.export._trace" in sys.modules:
            trace_file.note("graphdoctor_exports", {})
