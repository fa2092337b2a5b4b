"""The trace files of a job, and the rank that each was written by.

torch writes one file for each process, ``dedicated_log_torch_trace_rank_<rank>_<random>.log`` (torch/_logging/
_internal.py, LazyTraceHandler). Without a process group when the first record is written, the name has no rank.
"""

from __future__ import annotations

import gzip
import io
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from graphdoctor.source.files import is_file, open_regular

_NAME = re.compile(r"dedicated_log_torch_trace_(?:rank_(\d+)_)?.*\.log(?:\.gz)?$")


class NoTrace(Exception):
    """There is nothing to read; the text is one line for the user."""


@dataclass(frozen=True)
class TraceFile:
    """One file; ``rank`` is None where its name has none."""

    path: Path
    rank: int | None


def find(path: Path) -> tuple[TraceFile, ...]:
    """The trace files in a folder and its subfolders, by rank; a file given alone is taken whatever its name.

    Raises NoTrace.
    """
    if not os.path.exists(path):
        raise NoTrace(f"{path} does not exist; give the folder that TORCH_TRACE named, or one of its files")
    if is_file(path):
        return (TraceFile(path, _rank(path)),)
    if not os.path.isdir(path):
        raise NoTrace(f"{path} is no regular file; give the folder that TORCH_TRACE named, or one of its files")
    found = [TraceFile(file, _rank(file)) for file in path.rglob("*") if _NAME.match(file.name) and is_file(file)]
    if not found:
        raise NoTrace(
            f"{path} has no trace files (dedicated_log_torch_trace_*.log); run the job with TORCH_TRACE={path}"
        )
    return tuple(sorted(found, key=lambda file: (file.rank is None, file.rank or 0, file.path)))


def open_trace(file: TraceFile) -> BinaryIO:
    """The bytes of ``file``, unpacked where it is packed. Raises OSError."""
    stream = io.BufferedReader(cast(io.RawIOBase, open_regular(file.path)))
    packed = stream.read(2) == b"\x1f\x8b"
    stream.seek(0)
    return cast(BinaryIO, gzip.GzipFile(fileobj=stream) if packed else stream)


def _rank(file: Path) -> int | None:
    match = _NAME.match(file.name)
    return int(match[1]) if match and match[1] else None
