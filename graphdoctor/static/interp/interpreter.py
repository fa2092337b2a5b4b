"""The abstract interpreter: where it stands, what it found so far, and to whom it tells it.

It is handed to the functions of the other modules, which interpret one part of the language each.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import libcst as cst

from graphdoctor.breaks.run_facts import RunFacts
from graphdoctor.static.domain.events import Call, Compile, Event, Site
from graphdoctor.static.domain.frames import BlockNode, Frame, FrameFlags, Names
from graphdoctor.static.domain.program import ClassInfo, FunctionInfo, ModuleInfo
from graphdoctor.static.domain.project import Project
from graphdoctor.static.domain.recorded_values import Recorder
from graphdoctor.static.domain.value_functions import as_arguments, join, with_drawn_read
from graphdoctor.static.domain.values import Const, ExternalObject, Value
from graphdoctor.static.interp.state.call_graph import CallGraph
from graphdoctor.static.interp.state.compiled_code import FirstUses, Reached, Stores
from graphdoctor.static.interp.state.event_sink import EventSink
from graphdoctor.static.interp.state.hooks import Hooks
from graphdoctor.static.interp.state.library_objects import LibraryObjects
from graphdoctor.static.interp.state.region_facts import RegionFacts
from graphdoctor.static.memo.replay import CallCache, CallSummaries
from graphdoctor.static.memo.summaries import Summaries


class Budget(Exception):
    """The file needs more steps than a scan may take; what was found so far is reported."""


_SAME = nullcontext()


class _Call:
    """A frame while it is interpreted."""

    __slots__ = ("frame", "interpreter")

    def __init__(self, interpreter: Interpreter, frame: Frame) -> None:
        self.interpreter = interpreter
        self.frame = frame

    def __enter__(self) -> None:
        self.interpreter.frames.append(self.frame)
        self.interpreter.frame = self.frame

    def __exit__(self, *error: object) -> None:
        frames = self.interpreter.frames
        frames.pop()
        if frames:
            self.interpreter.frame = frames[-1]


class Interpreter:
    """Interprets one scanned file, and is discarded with it.

    The modules that files import stay in ``project.library``, for all files.
    """

    #: Deeper calls than this are not followed.
    MAX_DEPTH = 40
    #: Evaluated expressions per file, some seconds; beyond that no new call is followed. The largest of 2,500 files
    #: of libraries needs 125,000.
    MAX_STEPS = 400_000

    def __init__(
        self,
        project: Project,
        sink: EventSink,
        events_outside: frozenset[type[Event]] | None = None,
        call_cache: CallCache | None = None,
        recorder: Recorder | None = None,
        run_facts: Mapping[Path, RunFacts] | None = None,
    ) -> None:
        # What is interpreted.
        self.project = project
        #: The module of the file that is scanned; the others are what it imports. None for a library interpreter.
        self.main: ModuleInfo | None = None
        #: Names of the scanned module that functions or loops rebind.
        self.rebound_names: frozenset[str] = frozenset()
        #: What a run has shown, by file.
        self.run_facts = run_facts or {}
        self.region_facts = RegionFacts()

        # Where the interpreter stands.
        self.frames: list[Frame] = []
        self.frame: Frame  # The innermost of them, the call being interpreted.
        #: The functions that are being interpreted, outermost first.
        self.active: list[FunctionInfo] = []
        #: The expression whose value is not used (an expression statement).
        self.unused: cst.CSTNode | None = None
        #: How many expressions were evaluated so far, and how many may be; something that may not use up all of them
        #: lowers the limit meanwhile.
        self.steps = 0
        self.step_limit = self.MAX_STEPS

        # Who is told of it.
        self.sink = sink
        #: The kinds of events that the sink subscribes to outside compiled regions; None for all.
        self.events_outside = events_outside
        #: Records the values of expressions where a fix needs them.
        self.recorder = recorder
        #: Statements of the scanned file that were interpreted where rules see them: in compiled code, or outside
        #: functions. None where the file has no suppression: they only tell which suppressions are unused.
        self.seen_statements: set[cst.CSTNode] | None = None

        # What the code did so far.
        #: How often the graph ended.
        self.graph_ends = 0
        #: The resolved dotted name of each external call, by the id of its node (for ``with`` items).
        self.callees: dict[int, str] = {}
        self.reached = Reached()
        self.call_graph = CallGraph()
        self.stores = Stores()
        self.first_uses = FirstUses()
        self.library_objects = LibraryObjects()
        self.hooks = Hooks()

        # What was worked out before and holds again.
        #: Summaries of calls in the scanned file.
        self.summaries = Summaries(project.lookups)
        #: Summaries of calls into other modules, from all files.
        self.call_cache = call_cache if call_cache is not None else CallCache()
        #: Summaries of constructors of imported modules, called for objects of classes of the scanned file.
        self.constructor_summaries: CallSummaries = {}
        #: Of functions, with the class of their object: the parameters used as tensors, and those used as numbers.
        self.parameter_uses: dict[tuple[FunctionInfo, ClassInfo | None], tuple[set[str], set[str]]] = {}

    @property
    def library_interpreter(self) -> Interpreter:
        """The interpreter of imported modules, whose events nobody receives."""
        return self if self.main is None else self._library_interpreter

    @cached_property
    def _library_interpreter(self) -> Interpreter:
        return Interpreter(self.project, EventSink(), frozenset())

    def module_with_key(self, key: str) -> ModuleInfo | None:
        """The module with this key, the scanned one or an imported one."""
        if self.main is not None and self.main.key == key:
            return self.main
        return self.project.library.get(key)

    def effect_counts(self) -> tuple[int, ...]:
        """How much calls have left behind in the interpreter so far, apart from what objects hold: the hits first."""
        return (
            len(self.sink.hits),
            self.sink.others,
            len(self.first_uses),
            len(self.library_objects),
            len(self.hooks.on_parts),
            len(self.project.rebound),
        )

    def emit(self, kind: type[Event], node: cst.CSTNode, **fields: Any) -> None:
        """Hand an event at ``node`` to the sink, unless it is on a path that only leads to an error."""
        if kind is Compile and fields["kwargs"].get("dynamic") == Const(True):
            self.region_facts.has_dynamic_sizes = True
        frame = self.frame
        if frame.muted or not (frame.compiled or self.events_outside is None or kind in self.events_outside):
            return
        if not self.sink.subscribes(kind, fields.get("qualname", "")):
            return
        if kind is Call and frame.inner and not fields.get("used", True):
            fields["inner"] = tuple(frame.inner)
        if self.sink.receive(kind(node=node, site=self.site(), **fields)):
            self.start_new_graph()

    def note_seen(self, statement: cst.CSTNode) -> None:
        """Note that the rules have seen the events of ``statement``."""
        if self.seen_statements is None:
            return
        frame = self.frame
        if frame.module is self.main and not frame.muted and (frame.compiled or frame.function is None):
            self.seen_statements.add(statement)

    def site(self) -> Site:
        """Where the interpreter stands."""
        frame, known = self.frame, self.frame.site
        if (
            known is None
            or known.statement is not frame.statement
            or known.whole_frame != frame.whole_frame
            or (known.conditional, known.untaken, known.compiled) != (frame.conditional, frame.untaken, frame.compiled)
            or (known.optional, known.recomputed) != (frame.optional, frame.recomputed)
            or (known.resumed, known.resumes) != (frame.resumed, frame.resumes)
        ):
            frame.site = known = Site(
                module=frame.module.source,
                function=frame.name,
                statement=frame.statement,
                whole_frame=frame.whole_frame,
                conditional=frame.conditional,
                compiled=frame.compiled,
                untaken=frame.untaken,
                assumed=self.region_facts.assumed,
                has_sample=self.region_facts.has_sample,
                optional=frame.optional,
                resumed=frame.resumed,
                resumes=frame.resumes,
                recomputed=frame.recomputed,
                entering=frame.entering,
                callers=frame.callers,
            )
        return known

    def build(
        self, node: cst.CSTNode, qualname: str, args: tuple[Value, ...], kwargs: dict[str, Value]
    ) -> ExternalObject:
        """The object that a library call makes. Outside regions, what is done with it is recorded."""
        if self.frame.compiled or self.frame.muted or self.frame.module is not self.main:
            return ExternalObject(qualname, in_region=self.frame.compiled)
        return self.library_objects.make(node, self.site(), qualname, args, kwargs)

    def finish(self) -> None:
        """Emit ``Build`` for the objects made outside regions, now that it is known what became of them."""
        for event in self.library_objects.events():
            self.sink.receive(event)

    def start_new_graph(self, sure: bool = True) -> None:
        """Note that the graph ends here: after the statement, each function on the stack continues in a new graph.

        Not ``sure``: the graph ends on one path of the call, perhaps not on all.
        """
        self.graph_ends += 1
        for frame in reversed(self.frames):
            frame.resumed = frame.statement
            frame.resumes |= sure
            sure &= not frame.conditional
        self.read_drawn_numbers()

    def read_drawn_numbers(self) -> None:
        """Make plain numbers of those that the graph drew, since it ends here."""
        for frame in self.frames if self.call_cache.has_drawn else ():
            names = frame.scope.names
            names.update({name: with_drawn_read(value) for name, value in names.items()})

    def continue_in_new_graph(self, after: cst.CSTNode | None = None) -> None:
        """Turn the local tensors into inputs of the next graph, since one ended.

        It ended in the statement ``after``, which was run: what that computes last, as ``y = x.item() * z`` does, is
        computed in the next graph. What a nested function reads of the functions around it is an input as well.
        """
        if self.frame.compiled:
            names = self.frame.scope.names
            computed = _computed_last(after)
            names.update({name: as_arguments(value) for name, value in names.items() if name != computed})
            around = self.frame.scope.parent
            while around is not None and around.kind == "function":
                around.names.update({name: as_arguments(value) for name, value in around.names.items()})
                around = around.parent

    def path(
        self,
        *,
        conditional: bool = False,
        optional: bool = False,
        untaken: bool = False,
        muted: bool = False,
        whole_frame: BlockNode | None = None,
        trying: bool = False,
        training: bool | None = None,
    ) -> FrameFlags | nullcontext[None]:
        """A context: the code inside runs under a condition, on an error path, or where a break drops the frame."""
        if not (conditional or optional or untaken or muted or whole_frame is not None or trying):
            return _SAME
        return FrameFlags(self.frame, whole_frame, training, conditional, optional, untaken, muted, trying)

    def call(self, frame: Frame) -> _Call:
        """A context: the code inside runs in ``frame``."""
        return _Call(self, frame)

    def snapshot(self) -> Names:
        """A copy of the local names."""
        return dict(self.frame.scope.names)

    def restore(self, names: Names) -> None:
        """Put local names back to a snapshot."""
        self.frame.scope.names = names


def merge(*states: Names) -> Names:
    """Local names after paths that end in ``states``. A name that only some paths bind has the values of these."""
    if len(states) == 1:
        return states[0]
    merged: Names = dict(states[0])
    for state in states[1:]:
        for name, value in state.items():
            known = merged.get(name)
            merged[name] = value if known is None or known is value else join(known, value)
    # A refinement ("self.mask" is not None) holds only where every path has it.
    for name in [n for n in merged if "." in n and not all(n in state for state in states)]:
        del merged[name]
    return merged or {}


def _computed_last(statement: cst.CSTNode | None) -> str | None:
    """The name that ``statement`` binds to the result of an operator, which runs after all that it computes with."""
    inner = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    if not isinstance(inner, cst.Assign) or not isinstance(inner.value, cst.BinaryOperation):
        return None
    target = inner.targets[0].target
    return target.value if len(inner.targets) == 1 and isinstance(target, cst.Name) else None
