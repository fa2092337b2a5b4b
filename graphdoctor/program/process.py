"""Starts the user's program, and waits for its end whatever ends it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from graphdoctor.program.launch import CannotRun
from graphdoctor.recorder.settings import VARIABLE, Settings

_INJECT = Path(__file__).parent / "inject"


@dataclass(frozen=True)
class Ended:
    """How the program ended: with an exit code, or by the signal ``signal`` (0: none)."""

    code: int
    signal: int = 0

    @property
    def exit_code(self) -> int:
        """What a shell calls it: 128 and the number of the signal."""
        return 128 + self.signal if self.signal else self.code

    @property
    def words(self) -> str:
        """``ended with exit code 3``, ``was killed (SIGKILL)``."""
        if not self.signal:
            return f"ended with exit code {self.code}"
        try:
            name = signal.Signals(self.signal).name
        except ValueError:
            name = f"signal {self.signal}"
        return "was interrupted (SIGINT)" if self.signal == signal.SIGINT else f"was killed ({name})"


def run(arguments: Sequence[str], settings: Settings) -> Ended:
    """Run the program in this terminal, with this process's streams. Raises CannotRun where it cannot be started."""
    try:
        process = subprocess.Popen(arguments, env=environment(settings, os.environ))
    except OSError as error:
        raise CannotRun(f"{arguments[0]} cannot be started: {error.strerror}") from None
    with _passing_on(process):
        while True:
            with contextlib.suppress(KeyboardInterrupt):
                code = process.wait()
                break
    return Ended(code) if code >= 0 else Ended(0, -code)


def environment(settings: Settings, inherited: Mapping[str, str]) -> dict[str, str]:
    """The program's environment: its own, and what starts the recorder in every Python process of it."""
    path = os.pathsep.join(filter(None, [str(_INJECT), inherited.get("PYTHONPATH", "")]))
    return {**inherited, "PYTHONPATH": path, VARIABLE: settings.dump()}


@contextlib.contextmanager
def _passing_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Signals to this process are the program's; a Ctrl-C of the terminal it gets anyway, as all of its group do."""

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if number != signal.SIGINT or not _in_foreground():
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(number)

    names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, pass_on)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_foreground() -> bool:
    """Whether Ctrl-C on the terminal is sent to this process and its children."""
    for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            if stream is not None and os.tcgetpgrp(stream.fileno()) == os.getpgrp():
                return True
    return False
