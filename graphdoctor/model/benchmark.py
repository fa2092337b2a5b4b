"""The dataclasses of a benchmark. No torch here: parent and worker import this module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Mode = Literal["eval", "train"]
Status = Literal["ok", "skipped", "failed", "interrupted"]

#: Seconds after which a command that runs the model many times ends with what it has.
TIME_LIMIT = 540.0


@dataclass(frozen=True)
class Question:
    """The request to a worker that runs the user's file: the target of ``file``, and what to do with it.

    ``target``, ``inputs`` and ``device`` are as in ``graphdoctor scan``. ``extra`` is for the worker's module.
    """

    file: Path
    root: Path
    target: str | None = None
    inputs: tuple[str, ...] = ()
    device: str = "auto"
    mode: Mode = "eval"
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Options:
    """How to measure. ``seconds`` is how long each steady state is timed at most, ``time_limit`` is that of all."""

    strategies: tuple[str, ...]
    backend: str = "inductor"
    seconds: float = 4.0
    time_limit: float = TIME_LIMIT


@dataclass(frozen=True)
class Timing:
    """Seconds of one step in the steady state: the median and the quartiles of ``samples`` measurements."""

    median: float
    low: float
    high: float
    samples: int


@dataclass(frozen=True)
class Result:
    """What was measured of one strategy; what was not, or not yet, is None.

    ``cold`` are the seconds of the calls that compiled, in a new process with empty caches; ``warm`` the same after
    ``torch._dynamo.reset()``, with the caches on disk filled. ``compilations`` are graphs. ``peak`` is the most memory
    in bytes that tensors took during a step, above what they held before it. ``difference`` is the largest to eager.
    """

    strategy: str
    status: Status = "ok"
    detail: str = ""
    cold: float | None = None
    warm: float | None = None
    compilations: int | None = None
    timing: Timing | None = None
    peak: int | None = None
    equal: bool | None = None
    difference: float | None = None
    numerics: str = ""


@dataclass(frozen=True)
class Bench:
    """A whole benchmark, which took ``seconds``. ``ended`` says why strategies are missing; else it is empty.

    ``load`` is how many processes wanted to run, averaged by the system over the last minute (``os.getloadavg``): the
    most that was seen at the begin of a strategy or at the end. On a busy machine times scatter. ``device_note`` says
    why it was measured on the CPU of a machine that has a GPU; else it is empty.
    """

    target: str
    mode: Mode
    backend: str
    results: tuple[Result, ...]
    environment: Mapping[str, str | None] = field(default_factory=dict)
    ended: str = ""
    command: str = ""
    seconds: float = 0.0
    load: float | None = None
    device_note: str = ""


# What a worker that runs the user's file says, see graphdoctor/dynamic/parent/protocol.py.


@dataclass(frozen=True)
class Where:
    """What runs, and where."""

    environment: Mapping[str, str | None]
    target: str


@dataclass(frozen=True)
class Measured:
    """What was measured of a strategy so far."""

    result: Result


@dataclass(frozen=True)
class Refused:
    """Why there is no answer, in one line."""

    detail: str
