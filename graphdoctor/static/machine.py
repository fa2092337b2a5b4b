"""The state of the abstract interpreter: frames, the call stack, memoised calls and the events emitted so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from graphdoctor.static.events import Event, Site
from graphdoctor.static.index import FunctionInfo, ModuleInfo, Project, Scope
from graphdoctor.static.values import Value, join

Names = dict[str, Value]


class Budget(Exception):
    """The file needs more steps than a scan may take; what was found so far stands."""


@dataclass(eq=False)
class Frame:
    """One call being interpreted."""

    function: FunctionInfo | None
    module: ModuleInfo
    scope: Scope
    statement: cst.CSTNode
    block: tuple[cst.BaseStatement, ...] = ()
    returns: list[Value] = field(default_factory=list)
    yields: list[Value] = field(default_factory=list)
    #: Snapshots of the names at ``break`` and ``continue`` of the innermost loop.
    exits: list[Names] = field(default_factory=list)
    whole_frame: bool = False
    conditional: bool = False
    #: On a path that only ends in a raise, or in an except handler: taken when things go wrong, so nothing is said.
    muted: bool = False
    #: Inside a ``try``.
    trying: bool = False
    compiled: bool = False

    @property
    def name(self) -> str:
        """Qualified name of the function, ``<module>`` at module level."""
        return self.function.qualname if self.function is not None else "<module>"


class Machine:
    """Interprets one file; a new one per scanned file, so that nothing of it outlives the file."""

    #: Deeper calls than this are not followed.
    MAX_DEPTH = 40
    #: Evaluated expressions per file before the interpreter gives up on new calls.
    MAX_STEPS = 1_500_000

    def __init__(self, project: Project, sink: Callable[[Event], None]) -> None:
        self.project = project
        self.sink = sink
        self.frames: list[Frame] = []
        self.modules: dict[str, ModuleInfo] = {}
        self.memo: dict[Any, Value] = {}
        self.active: list[Any] = []
        self.steps = 0
        #: The module of the file that is scanned; the others are what it imports.
        self.main: ModuleInfo | None = None
        #: Functions that ran inside a compiled region.
        self.reached: set[int] = set()
        #: The resolved dotted name of each external call, by the id of its node (for ``with`` items).
        self.callees: dict[int, str] = {}
        #: The expression whose value nobody uses (an expression statement).
        self.unused: cst.CSTNode | None = None

    @property
    def frame(self) -> Frame:
        """The call being interpreted."""
        return self.frames[-1]

    def step(self) -> None:
        """Count one evaluated expression. Raises Budget."""
        self.steps += 1
        if self.steps > self.MAX_STEPS:
            raise Budget

    def emit(self, kind: type[Event], node: cst.CSTNode, **fields: Any) -> None:
        """Hand an event at ``node`` to the sink, unless it is on a path that only leads to an error."""
        frame = self.frame
        if frame.muted:
            return
        function = frame.function
        site = Site(
            module=frame.module.source,
            function=frame.name,
            statement=frame.statement,
            function_node=function.node if function is not None else None,
            whole_frame=frame.whole_frame,
            conditional=frame.conditional,
            compiled=frame.compiled,
            block=frame.block,
        )
        self.sink(kind(node=node, site=site, **fields))

    @contextmanager
    def path(
        self, *, conditional: bool = False, muted: bool = False, whole_frame: bool = False, trying: bool = False
    ) -> Iterator[None]:
        """What is interpreted inside runs under a condition, on an error path, or where a break costs the frame."""
        frame = self.frame
        before = frame.conditional, frame.muted, frame.whole_frame, frame.trying
        frame.conditional |= conditional
        frame.muted |= muted
        frame.whole_frame |= whole_frame
        frame.trying |= trying
        try:
            yield
        finally:
            frame.conditional, frame.muted, frame.whole_frame, frame.trying = before

    @contextmanager
    def call(self, frame: Frame) -> Iterator[Frame]:
        """Run in ``frame``."""
        self.frames.append(frame)
        try:
            yield frame
        finally:
            self.frames.pop()

    def snapshot(self) -> Names:
        """A copy of the local names."""
        return dict(self.frame.scope.names)

    def restore(self, names: Names) -> None:
        """Put local names back to a snapshot."""
        self.frame.scope.names = names


def merge(*states: Names) -> Names:
    """Local names after paths that end in ``states``. A name bound on some paths only keeps the values it has there."""
    if len(states) == 1:
        return states[0]
    merged: Names = {}
    for state in states:
        for name, value in state.items():
            known = merged.get(name)
            merged[name] = value if known is None or known is value else join(known, value)
    # A refinement ("self.mask" is not None) holds only where every path has it.
    for name in [n for n in merged if "." in n and not all(n in state for state in states)]:
        del merged[name]
    return merged or {}
