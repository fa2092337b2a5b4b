"""What of a model compiles: the tree of its submodules, blocks that are alike, and what is one graph alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ModuleState = Literal["compiled", "partly", "eager", "no-operators", "not-called"]


@dataclass(frozen=True)
class ModuleNode:
    """A submodule in the tree of a model; ``name`` is its dotted path, empty for the model itself.

    ``operators`` are those of one eager forward, its submodules' included, and ``compiled_share`` says which share of
    them ran inside graphs; None where there are none, or where the trace rewrote them. ``breaks`` are those met in or
    below its ``forward``; modules of one class share them. ``compilations`` counts its ``forward`` as a frame of its
    own: 0 where it is part of its caller's graphs.
    """

    name: str
    type: str
    state: ModuleState
    operators: int
    compiled_share: float | None
    breaks: int
    compilations: int


@dataclass(frozen=True)
class Blocks:
    """Siblings of one class with parameters of the same shapes, and how often their ``forward`` was compiled.

    ``at_limit`` says that the recompile limit was reached and further blocks ran uncompiled. ``alone`` and
    ``alone_at_limit`` say the same of a run where each block is compiled for itself; None where that was not tried.
    """

    type: str
    names: tuple[str, ...]
    compilations: int
    at_limit: bool = False
    alone: int | None = None
    alone_at_limit: bool | None = None


@dataclass(frozen=True)
class ModuleVerdict:
    """Whether a submodule compiles alone with ``fullgraph=True``, on the inputs of one eager run.

    ``ready`` is None where it could not be tried. ``like`` names the equal submodule whose verdict this is.
    """

    name: str
    type: str
    operators: int
    ready: bool | None
    error: str | None = None
    path: str | None = None
    line: int | None = None
    like: str | None = None


@dataclass(frozen=True)
class Readiness:
    """What of a model compiles as one graph: the largest submodules that do, and the smallest that do not.

    ``ready`` and ``culprits`` are each sorted: most operators first, fewest operators first. ``compiled`` counts the
    submodules that were tried.
    """

    ready: tuple[ModuleVerdict, ...]
    culprits: tuple[ModuleVerdict, ...]
    compiled: int
    detail: str = ""
