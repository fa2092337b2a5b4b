"""A call that is being interpreted, and the flags that say how what happens in it counts."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from graphdoctor.static.domain.events import ArgumentCall, Block, Site
from graphdoctor.static.domain.program import FunctionInfo, ModuleInfo, Scope
from graphdoctor.static.domain.values import Value

Names = dict[str, Value]

BlockNode = cst.For | cst.While | cst.Try | cst.TryStar | cst.With
_KEYWORDS = {cst.For: "for", cst.While: "while", cst.Try: "try", cst.TryStar: "try", cst.With: "with"}


@dataclass(eq=False)
class Frame:
    """One call being interpreted."""

    function: FunctionInfo | None
    module: ModuleInfo
    scope: Scope
    statement: cst.CSTNode
    returns: list[Value] = field(default_factory=list)
    yields: list[Value] = field(default_factory=list)
    #: Snapshots of the names at ``break`` and ``continue`` of the innermost loop.
    exits: list[Names] = field(default_factory=list)
    #: The loop, try or with block for which a break here costs a whole function, which may be a caller.
    whole_frame: Block | None = None
    conditional: bool = False
    #: Behind an operand of ``and`` or ``or`` that may end the expression.
    optional: bool = False
    #: Under a condition on shapes that the sample of the file does not meet, or one that only a first call meets.
    untaken: bool = False
    #: On a path that only ends in a raise, or in an except handler: taken on errors only, so nothing is reported.
    muted: bool = False
    #: Inside a ``try``.
    trying: bool = False
    #: Inside a ``try`` of this function some of whose handlers go on with the function.
    recovers: bool = False
    #: In a function that ``checkpoint`` runs once more in the backward pass.
    recomputed: bool = False
    #: In code that runs around a call, of whose values nothing is known: what is under a condition may never run.
    guessed: bool = False
    #: Behind a ``return`` under a condition that is no question for a kind of object.
    may_be_left: bool = False
    #: The loops of this function that are being interpreted.
    loops: tuple[cst.For | cst.While, ...] = ()
    #: The exception that the ``try`` being interpreted surely meets.
    failure: Value | None = None
    compiled: bool = False
    #: It is not compiled, and calls what is.
    entering: bool = False
    #: The statement at which the graph ended last. What stands behind it is compiled as a function of its own.
    resumed: cst.CSTNode | None = None
    #: One ended on every path.
    resumes: bool = False
    #: Where it stood at the last event; most statements have several.
    site: Site | None = None
    #: The calls inside the arguments of the call whose value is not used, while it is interpreted.
    inner: list[ArgumentCall] | None = None

    @property
    def name(self) -> str:
        """Qualified name of the function, ``<module>`` at module level."""
        return self.function.qualname if self.function is not None else "<module>"

    def block(self, node: BlockNode) -> Block:
        """``node``, a statement of the function."""
        source = self.module.source
        return Block(self.name, _KEYWORDS[type(node)], source.location(node).line, source.path)


class FrameFlags:
    """The flags of a frame while something is interpreted. A class, since there is one for each ``if`` and boolean."""

    __slots__ = ("before", "block", "flags", "frame", "resumes")

    def __init__(self, frame: Frame, block: BlockNode | None, *flags: bool) -> None:
        self.frame = frame
        self.block = block
        self.flags = flags

    def __enter__(self) -> None:
        frame = self.frame
        self.before = frame.conditional, frame.optional, frame.untaken, frame.muted, frame.whole_frame, frame.trying
        self.resumes = frame.resumes
        conditional, optional, untaken, muted, trying = self.flags
        conditional |= optional
        frame.conditional |= conditional
        frame.optional |= optional
        frame.untaken |= untaken or (conditional and frame.guessed)
        frame.muted |= muted
        # What is checkpointed is an operator of the graph, which ends at the call.
        if self.block is not None and not frame.recomputed:
            frame.whole_frame = frame.block(self.block)
        frame.trying |= trying

    def __exit__(self, *error: object) -> None:
        frame = self.frame
        (frame.conditional, frame.optional, frame.untaken, frame.muted, frame.whole_frame, frame.trying) = self.before
        conditional, optional, *_ = self.flags
        if conditional or optional:
            frame.resumes = self.resumes
