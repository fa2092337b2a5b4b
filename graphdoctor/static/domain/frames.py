"""A call that is being interpreted, and the flags that say how sure the events in it are."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from graphdoctor.static.domain.events import ArgumentCall, Block, Caller, Site
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
    #: The loop, ``try`` or ``with`` block because of which a break here drops a whole frame, perhaps that of a caller.
    whole_frame: Block | None = None
    conditional: bool = False
    #: After an operand of ``and`` or ``or`` that may end the expression.
    optional: bool = False
    #: Under a condition that is false for the shapes of the sample, or true in the first call only.
    untaken: bool = False
    #: On a path that ends in a raise, or in an except handler: it runs on errors only, so nothing is reported.
    muted: bool = False
    #: Inside a ``try``.
    trying: bool = False
    #: Inside a ``try`` of this function with a handler after which the function goes on.
    recovers: bool = False
    #: In a function that ``checkpoint`` runs again in the backward pass.
    recomputed: bool = False
    #: In a wrapper around a call, of whose values nothing is known: code under a condition may never run.
    guessed: bool = False
    #: After a ``return`` under a condition, other than a test for a kind of object.
    may_be_left: bool = False
    #: The loops of this function that are being interpreted.
    loops: tuple[cst.For | cst.While, ...] = ()
    #: The exception that the ``try`` being interpreted surely meets.
    failure: Value | None = None
    compiled: bool = False
    #: The mode of the modules, once a test of ``self.training`` led here: a module and its parts are in the same one.
    training: bool | None = None
    #: Not compiled itself, and calling the compiled function.
    entering: bool = False
    #: The statement at which the graph ended last. Dynamo compiles what follows as a separate function.
    resumed: cst.CSTNode | None = None
    #: Whether the graph ended on every path.
    resumes: bool = False
    #: The site of the last event, since most statements have several events.
    site: Site | None = None
    #: While a call whose value is not used is interpreted: the calls inside its arguments.
    inner: list[ArgumentCall] | None = None
    #: The calls of compiled code that lead to this one, in their order.
    callers: tuple[Caller, ...] = ()

    @property
    def name(self) -> str:
        """Qualified name of the function, ``<module>`` at module level."""
        return self.function.qualname if self.function is not None else "<module>"

    def calling(self) -> tuple[Caller, ...]:
        """The callers of what is called here."""
        if not self.compiled or self.function is None:
            return ()
        return (*self.callers, Caller(self.module.source, self.function.qualname, self.statement))

    def is_of(self, *bases: str) -> bool:
        """Whether it is a call of a method of a class that derives from one of ``bases``."""
        owner = self.function.owner if self.function is not None else None
        return owner is not None and owner.derives(*bases)

    def block(self, node: BlockNode) -> Block:
        """``node``, a statement of the function."""
        source = self.module.source
        return Block(self.name, _KEYWORDS[type(node)], source.location(node).line, source.path)


class FrameFlags:
    """A context that sets flags of a frame. A class, because it is made for each ``if`` and is faster than a
    generator."""

    __slots__ = ("before", "block", "flags", "frame", "mode", "resumes", "training")

    def __init__(self, frame: Frame, block: BlockNode | None, training: bool | None, *flags: bool) -> None:
        self.frame = frame
        self.block = block
        self.training = training
        self.flags = flags

    def __enter__(self) -> None:
        frame = self.frame
        self.before = frame.conditional, frame.optional, frame.untaken, frame.muted, frame.whole_frame, frame.trying
        self.resumes, self.mode = frame.resumes, frame.training
        conditional, optional, untaken, muted, trying = self.flags
        conditional |= optional
        frame.conditional |= conditional
        frame.optional |= optional
        frame.untaken |= untaken or (conditional and frame.guessed)
        frame.muted |= muted
        # A checkpointed function is one operator of the graph, so a break in it ends the graph at its call.
        if self.block is not None and not frame.recomputed:
            frame.whole_frame = frame.block(self.block)
        frame.trying |= trying
        if self.training is not None:
            frame.training = self.training

    def __exit__(self, *error: object) -> None:
        frame = self.frame
        (frame.conditional, frame.optional, frame.untaken, frame.muted, frame.whole_frame, frame.trying) = self.before
        frame.training = self.mode
        conditional, optional, *_ = self.flags
        if conditional or optional:
            frame.resumes = self.resumes
