"""Reads the trace files of a job, several at a time where they are large."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from graphdoctor.breaks import registry
from graphdoctor.interrupt import can_fork, leave_signals
from graphdoctor.model.findings import ScannedFile
from graphdoctor.trace.files import TraceFile
from graphdoctor.trace.process import Process, read

#: Bytes for which another process is worth its start: half a second of reading.
_BYTES_A_PROCESS = 32 << 20


def ids() -> dict[str, str]:
    """What the traced torch calls a break that its message has no link for, with its id."""
    return {entry.gb_type: gb_id for gb_id, entry in registry.load().items()}


def read_processes(
    files: Sequence[TraceFile], jobs: int | None = None, progress: Callable[[str], None] = lambda _text: None
) -> tuple[list[Process], tuple[ScannedFile, ...]]:
    """The process of each file, by rank, and which files could be read.

    ``jobs``: how many are read at a time; None: as many as there are processors, where the files are large.
    """
    sizes = {file: _size(file) for file in files}
    found: dict[TraceFile, Process | OSError] = {}
    whole, done = sum(sizes.values()), 0
    for file, got in _each(files, sizes, jobs):
        found[file] = got
        done += sizes[file]
        progress(f"reading traces: {len(found)} of {len(files)} files, {done / 1e6:,.0f} of {whole / 1e6:,.0f} MB")
    return by_rank(found[file] for file in files), tuple(scanned(file, found[file]) for file in files)


def by_rank(found: Iterable[Process | OSError]) -> list[Process]:
    """The processes that have records, by rank: those known from the records only come after those in file names."""
    processes = [process for process in found if isinstance(process, Process) and process.tally.records]
    return sorted(processes, key=lambda process: (process.rank is None, process.rank or 0))


def scanned(file: TraceFile, found: Process | OSError) -> ScannedFile:
    """Whether ``file`` could be read."""
    name = str(file.path)
    if isinstance(found, OSError):
        return ScannedFile(name, 0, "failed", f"cannot be opened: {found.strerror}")
    tally = found.tally
    if tally.records:
        return ScannedFile(name, tally.lines, "scanned")
    reason = tally.damaged or ("it is empty" if not tally.lines else "it holds no trace record")
    return ScannedFile(name, tally.lines, "failed", reason)


def _each(
    files: Sequence[TraceFile], sizes: Mapping[TraceFile, int], jobs: int | None
) -> Iterator[tuple[TraceFile, Process | OSError]]:
    """Each file with what was read of it, as they come."""
    one = partial(_read, ids())
    wanted = min(jobs or os.cpu_count() or 1, len(files))
    if jobs is None:
        wanted = min(wanted, 1 + sum(sizes.values()) // _BYTES_A_PROCESS)
    if wanted < 2 or not can_fork():
        yield from map(one, files)
        return
    import multiprocessing

    # The large ones first, so that no process is left with one at the end.
    ordered = sorted(files, key=lambda file: -sizes[file])
    with multiprocessing.get_context("fork").Pool(wanted, leave_signals) as pool:
        yield from pool.imap_unordered(one, ordered)


def _read(ids: Mapping[str, str], file: TraceFile) -> tuple[TraceFile, Process | OSError]:
    try:
        return file, read(file, ids)
    except OSError as error:
        return file, error


def _size(file: TraceFile) -> int:
    try:
        return file.path.stat().st_size
    except OSError:
        return 0
