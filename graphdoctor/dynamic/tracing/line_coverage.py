"""Which lines of watched files run: ``sys.settrace``, switched off for all other code."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any


@contextmanager
def executed_lines(paths: Iterable[str]) -> Iterator[dict[str, set[int]]]:
    """Record, by path as given, the lines that run inside the block, in all threads that start in it."""
    lines: dict[str, set[int]] = {path: set() for path in paths}
    by_file = {os.path.realpath(path): found for path, found in lines.items()}
    resolved: dict[str, set[int] | None] = {}

    def on_call(frame: FrameType, _event: str, _arg: object) -> Any:
        name = frame.f_code.co_filename
        if name not in resolved:
            # A name such as <string> is looked for in the working folder, which the code may have deleted.
            with suppress(FileNotFoundError):
                resolved[name] = by_file.get(os.path.realpath(name))
        found = resolved.get(name)
        if found is None:
            return None

        def on_line(frame: FrameType, event: str, _arg: object) -> Any:
            if event == "line":
                found.add(frame.f_lineno)
            return on_line

        return on_line

    if not lines:
        yield lines
        return
    before, before_threads = sys.gettrace(), threading.gettrace()
    threading.settrace(on_call)
    sys.settrace(on_call)
    try:
        yield lines
    finally:
        sys.settrace(before)
        # A debugger or a coverage tool may have set one.
        threading.settrace(before_threads)
