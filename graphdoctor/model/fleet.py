"""The dataclasses of a fleet: many targets, each scanned in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from graphdoctor.model.findings import Summary

#: ``done``: there is a report. ``failed``: the scan ended without one. ``timeout`` and ``memory``: a limit was met.
#: ``crashed``: a signal ended it.
Outcome = Literal["done", "failed", "timeout", "memory", "crashed"]

#: Against an earlier fleet.
Trend = Literal["worse", "better", "same", "new", ""]


@dataclass(frozen=True)
class Target:
    """What one scan is given: ``arguments`` of ``graphdoctor scan``, with paths from ``folder``."""

    name: str
    arguments: tuple[str, ...]
    folder: Path


@dataclass(frozen=True)
class Limits:
    """Of each target: seconds, and MiB of resident memory of all its processes."""

    seconds: float
    memory_mb: int


@dataclass(frozen=True)
class Result:
    """What became of a target. ``detail`` says in a line why there is no report; ``report`` is the JSON of the scan.

    ``key`` tells whether the result is still that of the target: see ``graphdoctor.fleet.identity``. ``page`` is the
    report as HTML, from the folder of the fleet; empty where there is none.
    """

    name: str
    key: str
    outcome: Outcome
    seconds: float
    memory_mb: int = 0
    detail: str = ""
    summary: Summary | None = None
    report: str = ""
    page: str = ""


@dataclass(frozen=True)
class Row:
    """A result with how it differs from that of an earlier fleet, and in ``reason`` why it is worse or better."""

    result: Result
    trend: Trend = ""
    reason: str = ""


@dataclass(frozen=True)
class Fleet:
    """The rows in the order of the list. ``against``: what the earlier fleet is called. ``missing`` have no result."""

    name: str
    rows: tuple[Row, ...]
    missing: tuple[str, ...] = ()
    against: str = ""
    environment: Mapping[str, str | None] = field(default_factory=dict)
