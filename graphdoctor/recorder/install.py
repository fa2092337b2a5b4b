"""Puts the parts of the recorder in place, in a process that has just imported torch."""

from __future__ import annotations

import os
from pathlib import Path

from graphdoctor.recorder import torch_hooks
from graphdoctor.recorder.settings import Settings
from graphdoctor.recorder.trace_file import TraceFile


def install(settings: Settings) -> None:
    """Record from now on. Raises what the private parts of another torch may raise."""
    Path(settings.folder, f"imported_torch_{os.getpid()}").touch()
    trace_file = TraceFile(settings.folder)
    torch_hooks.listen(trace_file)
    torch_hooks.watch_lines(trace_file.traced)
    if settings.steps or settings.sample_bytes or settings.compile:
        from graphdoctor.recorder.compiled_calls import watch_calls

        watch_calls(settings, trace_file)
