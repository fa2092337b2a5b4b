"""Reads the traces of a job that is still running, as they grow."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from graphdoctor.breaks.job_locations import Sources, job_places
from graphdoctor.model.findings import ScannedFile
from graphdoctor.report.wording import plural
from graphdoctor.trace.files import NoTrace, TraceFile, find, open_trace
from graphdoctor.trace.process import Process, Reader
from graphdoctor.trace.ranks import ran, together
from graphdoctor.trace.reading import by_rank, ids, scanned
from graphdoctor.trace.records import LINE_LIMIT, Assembler, Record


class Following:
    """The files below ``path``, those too that come later, each read up to where it ends at present."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: dict[Path, GrowingFile] = {}
        self._ids = ids()
        self._told: set[tuple[str, str]] = set()

    def read_on(self) -> bool:
        """Read what was added. Returns whether anything was."""
        try:
            found = find(self._path)
        except NoTrace:
            found = ()
        for file in found:
            self._files.setdefault(file.path, GrowingFile(file, self._ids))
        grew = [file for file in self._files.values() if file.read_on()]
        return bool(grew)

    def news(self) -> Iterator[str]:
        """A line for each break and recompile that was not told yet, with the ranks that it is on."""
        processes = [process for process in self._processes() if not process.is_idle]
        torch = next((process.torch_folder for process in processes if process.torch_folder), "")
        sources = Sources({line: text for process in processes for line, text in process.quoted.items()})
        met: dict[str, list[str]] = {}
        for entry in ran(processes, job_places(Path.cwd(), torch), sources):
            lines = [f"{b.path}:{b.line}: breaks the graph: {b.reason}" for b in entry.run.breaks if b.owner == "own"]
            lines += [f"{r.path}:{r.line}: is compiled again: {r.cause}" for r in entry.run.recompiles]
            for line in dict.fromkeys(lines):
                if (entry.label, line) not in self._told:
                    self._told.add((entry.label, line))
                    met.setdefault(line, []).append(entry.label)
        for line, labels in met.items():
            yield f"{line} ({together(labels)})"

    def state(self) -> str:
        """How much there is by now, as a clause."""
        if not self._files:
            return f"waiting for a trace in {self._path}"
        processes = self._processes()
        compilations = sum(cost.compilations for process in processes for cost in process.costs.values())
        return f"following {plural(len(self._files), 'file')}: {plural(compilations, 'compilation')} so far"

    def end(self) -> tuple[list[Process], tuple[ScannedFile, ...]]:
        """The processes by rank, and which files could be read. Raises NoTrace when there is no file."""
        if not self._files:
            find(self._path)
        for file in self._files.values():
            file.read_on(ends=True)
        return self._processes(), tuple(scanned(file.file, file.process) for file in self._files.values())

    def _processes(self) -> list[Process]:
        return by_rank(file.process for file in self._files.values())


class GrowingFile:
    """One file that is still written to."""

    def __init__(self, file: TraceFile, ids: Mapping[str, str]) -> None:
        self.file = file
        self._reader = Reader(file, ids)
        self.process = self._reader.process
        self._assembler = Assembler(self._reader.handlers, self.process.tally)
        self._position = 0
        self._begins = True

    def read_on(self, ends: bool = False) -> bool:
        """Read the lines that were added and are whole; where the file ``ends``, its last one too.

        Returns whether there was anything.
        """
        before, last = self._position, None
        try:
            with open_trace(self.file) as stream:
                stream.seek(self._position)
                for line in iter(partial(stream.readline, LINE_LIMIT), b""):
                    if not line.endswith(b"\n") and len(line) < LINE_LIMIT and not ends:
                        return self._position > before  # it is being written just now
                    self._position += len(line)
                    begins, self._begins = self._begins, line.endswith(b"\n")
                    if begins:
                        self.process.tally.lines += 1
                        self._take(self._assembler.add(line if len(line) < LINE_LIMIT else line[:-1] + b"\n"))
        except (OSError, EOFError, zlib.error):
            pass  # what is not there now may be there next time
        if self._position == before or ends:
            # torch writes a record at once: nothing comes of the last one after a while without any.
            self._take(last := self._assembler.end())
        self.process.tally.cut = not self._begins
        return self._position > before or last is not None

    def _take(self, record: Record | None) -> None:
        if record is not None:
            self._reader.take(record)


def follow(
    path: Path,
    wait: Callable[[float], bool],
    say: Callable[[Sequence[str]], None],
    progress: Callable[[str], None],
    idle: float | None = None,
    pause: float = 1.0,
) -> Following:
    """Read the traces below ``path`` until ``wait``, which waits for so many seconds, says that it was told to end.

    With ``idle`` also where nothing was written for so many seconds.
    """
    following, quiet = Following(path), 0.0
    while True:
        quiet = 0.0 if following.read_on() else quiet + pause
        if not quiet:
            say(tuple(following.news()))
        progress(following.state())
        if (idle is not None and quiet >= max(idle, pause)) or wait(pause):
            return following
