"""The folder of a recording: one for all processes of a program, and for all ranks that a launcher started here."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from graphdoctor.program.launch import CannotRun
from graphdoctor.program.process import Ended

#: Seconds that rank 0 waits for the others to end after its own end.
_GRACE = 30.0
_POLL = 0.1


@dataclass(frozen=True)
class Rank:
    """This process's place in a job whose launcher starts each rank; ``local`` ranks are on this machine."""

    number: int
    local: int

    @property
    def reports(self) -> bool:
        """One rank reports for all."""
        return self.number == 0


def rank(environment: Mapping[str, str]) -> Rank | None:
    """The rank that torchrun or srun gave this process; None where it is no rank of a job."""
    for number, local in (("RANK", "LOCAL_WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS_PER_NODE")):
        value, size = environment.get(number, ""), environment.get(local, "1")
        if value.isdigit() and size.isdigit() and ("MASTER_ADDR" in environment or number == "SLURM_PROCID"):
            return Rank(int(value), int(size))
    return None


@contextlib.contextmanager
def recording(value: str | None, place: Rank | None) -> Iterator[Path]:
    """The folder: ``value``, which is kept, else a temporary one, which the ranks of a job share. Raises CannotRun."""
    if value is not None:
        yield _made(Path(value))
    elif place is None:
        with tempfile.TemporaryDirectory(prefix="graphdoctor-run-", ignore_cleanup_errors=True) as folder:
            yield Path(folder)
    else:
        # All ranks have the same parent, the launcher, and find the folder by its number.
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        folder_of_job = Path(tempfile.gettempdir(), f"graphdoctor-run-{os.getppid()}-{attempt}")
        try:
            yield _made(folder_of_job)
        finally:
            if place.reports:
                shutil.rmtree(folder_of_job, ignore_errors=True)


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.lstat()
    except OSError as error:
        raise CannotRun(f"{folder} cannot be made: {error.strerror}") from None
    if hasattr(os, "getuid") and not (stat.S_ISDIR(folder.stat().st_mode) and state.st_uid == os.getuid()):
        raise CannotRun(f"{folder} is no folder of yours; give another one with --record")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CannotRun(f"{folder} cannot be written to; give another one with --record")
    return folder


def mark_ended(folder: Path, place: Rank, ended: Ended) -> None:
    """Note for the rank that reports that this one has ended."""
    content = json.dumps({"code": ended.code, "signal": ended.signal})
    (folder / f"ended_{place.number}.json").write_text(content, encoding="utf-8")


def wait_for_ranks(folder: Path, place: Rank) -> tuple[int, ...]:
    """Wait until the ranks of this machine have ended, or the time is over. Gives those that have not."""
    until = time.monotonic() + _GRACE
    while True:
        missing = tuple(n for n in range(place.local) if not (folder / f"ended_{n}.json").exists())
        if not missing or time.monotonic() > until:
            return missing
        time.sleep(_POLL)
