"""The dataclasses of an audit: whether compiling changes what code does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: What an audit compares: each is one way in which compiling can change what code does.
Oracle = Literal["outputs", "gradients", "aliasing", "metadata", "state", "exceptions"]


@dataclass(frozen=True)
class Deviation:
    """Where compiled code does something else than eager; ``detail`` is a clause with the difference."""

    oracle: Oracle
    detail: str


@dataclass(frozen=True)
class Audited:
    """One backend against eager. ``layer`` is what it adds to the backends before it."""

    name: str
    outcome: Literal["same", "differs", "skipped"]
    layer: str = ""
    deviations: tuple[Deviation, ...] = ()
    detail: str = ""


@dataclass(frozen=True)
class Audit:
    """The backends in order, up to the first that differs, and the first submodule whose outputs do.

    ``operator`` and ``place`` are where the difference starts. ``repro`` is a script that was run and shows it, and
    ``issue`` the text of a bug report.
    """

    backends: tuple[Audited, ...]
    submodule: str | None = None
    detail: str = ""
    operator: str = ""
    place: str = ""
    repro: str | None = None
    issue: str | None = None
