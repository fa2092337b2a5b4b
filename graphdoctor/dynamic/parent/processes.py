"""The worker's process tree: its processes, their memory, their end. On Linux through /proc; elsewhere the process
group alone.

A process belongs to the worker when it descends from it, sits in its session, or carries its marker in the environment.
The marker finds children that called ``setsid`` and whose parent is gone; the subreaper flag (prctl(2)) keeps orphans
below the worker while it lives, so that a child with an emptied environment is found as well.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

#: Name of the environment variable that marks the processes of one run.
MARKER = "GRAPHDOCTOR_RUN"

_PROC = Path("/proc")
_HAS_PROC = (_PROC / "self" / "stat").exists()
# prctl(2), <linux/prctl.h>
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
#: Seconds that killed processes get to disappear.
_REAP = 2.0


@dataclass(frozen=True)
class Process:
    """One process; ``started`` (clock ticks since boot) distinguishes it from a later one with the same id."""

    pid: int
    parent: int
    session: int
    started: int
    resident: int
    zombie: bool


def die_with_parent() -> None:
    """Have the kernel kill the calling process when its parent dies (Linux only)."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans(on: bool = True) -> None:
    """Make the calling process the parent of descendants that lose theirs (Linux only)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, int(on))


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


class Tree:
    """The processes of one worker. ``pid`` leads its own session; ``marker`` is the value of ``MARKER``."""

    def __init__(self, pid: int, marker: str) -> None:
        self.pid = pid
        self._marker = f"{MARKER}={marker}".encode()
        self._seen: dict[int, int] = {}
        # Processes whose environment holds no marker: it stays as it was when the program was started, so that it is
        # read once, and not ten times a second.
        self._unmarked: dict[int, int] = {}

    def members(self) -> list[Process]:
        """The living processes of the tree, the worker included; empty where there is no /proc."""
        everyone = {process.pid: process for process in _processes()}
        found: list[Process] = []
        for process in everyone.values():
            if self._seen.get(process.pid) == process.started or self._claims(process, everyone):
                self._seen[process.pid] = process.started
                found.append(process)
        return found

    def resident(self) -> int:
        """Resident memory of the tree in bytes; shared pages count once per process."""
        return sum(process.resident for process in self.members())

    def kill(self) -> None:
        """Kill every process of the tree and wait until they are gone."""
        alive = self._signalled(self.members())
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)
        self._wait(alive, self.members)
        for pid in self._seen:
            _reap(pid, self.pid)

    def kill_descendants(self) -> None:
        """Kill every process of the tree but the worker, which reaps them, and wait until they are gone."""
        self._wait(self._signalled(self._descendants()), self._descendants)

    def _descendants(self) -> list[Process]:
        return [process for process in self.members() if process.pid != self.pid]

    def _signalled(self, processes: list[Process]) -> list[Process]:
        """Send the signal to ``processes``. Returns those that were alive."""
        alive = [p for p in processes if not p.zombie]
        # The descendants first: while the worker lives, it adopts their orphans, and none gets lost.
        for process in sorted(alive, key=lambda p: p.pid == self.pid):
            _signal(process.pid)
        return alive

    def _wait(self, alive: list[Process], members: Callable[[], list[Process]]) -> None:
        """Wait until no process that ``members`` finds is alive; what is new gets the signal, too."""
        deadline = time.monotonic() + _REAP
        while alive and time.monotonic() < deadline:
            for process in alive:
                _reap(process.pid, self.pid)
            alive = self._signalled(members())
            time.sleep(0.01)

    def _claims(self, process: Process, everyone: dict[int, Process]) -> bool:
        if process.pid == os.getpid():
            return False
        if process.session == self.pid or _descends(process, self.pid, everyone):
            return True
        if self._unmarked.get(process.pid) == process.started:
            return False
        environment = _environment(process.pid)
        # While a program is being started it has none yet.
        if any(environment) and self._marker not in environment:
            self._unmarked[process.pid] = process.started
        return self._marker in environment


def _descends(process: Process, ancestor: int, everyone: dict[int, Process]) -> bool:
    seen: set[int] = set()
    while process.pid not in seen:
        if process.pid == ancestor:
            return True
        seen.add(process.pid)
        if process.parent not in everyone:
            return False
        process = everyone[process.parent]
    return False


def _processes() -> Iterator[Process]:
    if not _HAS_PROC:
        return
    page = os.sysconf("SC_PAGE_SIZE")
    for entry in os.listdir(_PROC):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError):
            # proc(5): the command name in parentheses may contain anything, the numbers follow the last parenthesis.
            with open(f"{_PROC}/{entry}/stat", "rb") as stat:
                fields = stat.read().rpartition(b")")[2].split()
            yield Process(
                pid=int(entry),
                parent=int(fields[1]),
                session=int(fields[3]),
                started=int(fields[19]),
                resident=int(fields[21]) * page,
                zombie=fields[0] in (b"Z", b"X"),
            )


def _environment(pid: int) -> list[bytes]:
    try:
        with open(f"{_PROC}/{pid}/environ", "rb") as environ:
            return environ.read().split(b"\0")
    except OSError:
        return []


def _signal(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)


def _reap(pid: int, worker: int) -> None:
    # The worker itself is reaped by its Popen object. Orphans are ours only while this process adopts them.
    if pid != worker:
        with contextlib.suppress(OSError):
            os.waitpid(pid, os.WNOHANG)
