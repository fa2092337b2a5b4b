"""The dataclasses of an advice. No torch here: parent and worker import this module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from graphdoctor.model.benchmark import Bench, Mode

Kind = Literal["model", "blocks", "submodules", "loss", "optimizer", "nowhere"]


@dataclass(frozen=True)
class Placement:
    """One place for torch.compile and what a run counted there.

    ``names`` are the submodules that are compiled in place, ``code`` is what the user writes. ``compilations`` are
    graphs over all calls, ``later`` those of them that the calls after the first took, for their other sizes or for
    state that the calls change. ``breaks`` are the distinct graph breaks, ``share`` the operators of a forward that run
    inside graphs. ``at_limit``: a function reached the recompile limit and runs uncompiled from then on. ``seconds``
    are those of the calls in which Dynamo traced, without a compiling backend.
    """

    kind: Kind
    code: str
    names: tuple[str, ...] = ()
    compilations: int = 0
    later: int = 0
    breaks: int = 0
    at_limit: bool = False
    share: float | None = None
    seconds: float = 0.0
    #: What was set on the model before: it is part of ``code``.
    setting: str = ""
    failure: str = ""


@dataclass(frozen=True)
class Shapes:
    """One way to treat changing sizes, and the compilations it took on the file's variants."""

    text: str
    compilations: int | None
    failure: str = ""


@dataclass(frozen=True)
class Note:
    """What to write with a library that wraps the model."""

    title: str
    code: str
    text: str = ""


@dataclass(frozen=True)
class Advice:
    """What was counted, the ``proposed`` placements (indices into ``placements``) and the ``reason``.

    ``device_note`` says why it was counted on the CPU of a machine that has a GPU; else it is empty.
    """

    target: str
    mode: Mode
    calls: int
    placements: tuple[Placement, ...]
    proposed: tuple[int, ...] = ()
    reason: str = ""
    shapes: tuple[Shapes, ...] = ()
    notes: tuple[Note, ...] = ()
    environment: Mapping[str, str | None] = field(default_factory=dict)
    bench: Bench | None = None
    device_note: str = ""


# Messages of the worker.


@dataclass(frozen=True)
class Counted:
    """One placement, and over how many calls it was counted."""

    placement: Placement
    calls: int


@dataclass(frozen=True)
class Proposal:
    """The last of it: the indices of the placements that are proposed, and what goes with them."""

    proposed: tuple[int, ...]
    reason: str
    shapes: tuple[Shapes, ...]
    notes: tuple[Note, ...]
