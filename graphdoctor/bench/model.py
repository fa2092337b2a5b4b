"""The dataclasses of a benchmark. No torch here: parent and worker import this module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Mode = Literal["eval", "train"]
Status = Literal["ok", "skipped", "failed", "interrupted"]


@dataclass(frozen=True)
class Question:
    """What a worker that runs the user's file is asked: the target of ``file``, and what to do with it.

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
    """How to measure. ``seconds`` is the least time that each steady state is timed, ``time_limit`` that of all."""

    strategies: tuple[str, ...]
    backend: str = "inductor"
    seconds: float = 1.0
    time_limit: float = 540.0


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
    """A whole benchmark. ``ended`` says why strategies are missing: the time limit or Ctrl-C; else it is empty."""

    target: str
    mode: Mode
    backend: str
    results: tuple[Result, ...]
    environment: Mapping[str, str | None] = field(default_factory=dict)
    ended: str = ""
    command: str = ""


def result_of(data: Mapping[str, Any]) -> Result:
    """The result whose fields ``data`` holds, as ``dataclasses.asdict`` gives them."""
    return Result(**{**data, "timing": Timing(**data["timing"]) if data["timing"] else None})
