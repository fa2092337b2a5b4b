"""The state of the abstract interpreter: frames, the call stack, summaries of calls and the events emitted so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import libcst as cst

from graphdoctor.breaks.run_facts import RunFacts
from graphdoctor.static.domain.events import Block, Build, Call, Compile, Event, Site
from graphdoctor.static.domain.frames import BlockNode, Frame, FrameFlags, Names
from graphdoctor.static.domain.program import ClassInfo, FunctionInfo, ModuleInfo
from graphdoctor.static.domain.project import Project
from graphdoctor.static.domain.recorded_values import Recorder
from graphdoctor.static.domain.value_functions import as_arguments, join, kinds
from graphdoctor.static.domain.values import Const, ExternalObject, Instance, SkippedDefault, Value
from graphdoctor.static.memo.replay import CallCache, CallSummaries
from graphdoctor.static.memo.summaries import Summaries
from graphdoctor.syntax.module import SourceModule


class Budget(Exception):
    """The file needs more steps than a scan may take; what was found so far is reported."""


@dataclass(eq=False)
class BuildRecord:
    """An object of a library made outside regions, and what is done with it afterwards."""

    node: cst.CSTNode
    site: Site
    qualname: str
    args: tuple[Value, ...]
    kwargs: dict[str, Value]
    attributes: set[str] = field(default_factory=set)
    called_with: set[str] = field(default_factory=set)

    def event(self) -> Build:
        """What rules see of it."""
        return Build(
            node=self.node,
            site=self.site,
            qualname=self.qualname,
            args=self.args,
            kwargs=self.kwargs,
            attributes=tuple(sorted(self.attributes)),
            called_with=tuple(sorted(self.called_with)),
        )


@dataclass(eq=False)
class Reached:
    """The functions that ran inside compiled regions, by id."""

    #: With the kinds of values that their parameters had, for functions of the scanned file.
    functions: dict[int, dict[str, set[type]]] = field(default_factory=dict)
    #: The methods among them, each with the class of its object, by id: an inherited method may call methods that the
    #: class overrides.
    methods: set[tuple[int, int]] = field(default_factory=set)


@dataclass(eq=False)
class Stores:
    """What compiled code stored in attributes of objects."""

    #: Attributes to which each compiled call assigns a new list.
    new_lists: set[tuple[Instance, str]] = field(default_factory=set)
    #: Attributes that the compiled call being interpreted has surely assigned, and not from their old value. Each
    #: region begins with a new set.
    assigned_first: set[tuple[Instance, str]] = field(default_factory=set)
    #: How often a kind of value was stored in an object that did not hold that kind before.
    new_kinds: int = 0


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


class EventSink:
    """Receives the events of an interpreter; this base class ignores them."""

    def __init__(self) -> None:
        #: The hits that rules made of events, and how often anything else was noted.
        self.hits: list[Any] = []
        self.others = 0

    def subscribes(self, _kind: type[Event], _qualname: str) -> bool:
        """Whether events of this class, or calls of this name, are wanted."""
        return False

    def receive(self, _event: Event) -> bool:
        """Receive an event. Returns whether the graph ends there."""
        return False

    def repeat(self, hits: Sequence[Any], _before: Block | None, _now: Block | None) -> None:
        """Add ``hits`` of a call that is replayed; a break drops the frame with the block ``_now``, not ``_before``."""
        self.hits += hits

    @contextmanager
    def compiling(self, _fullgraph: bool) -> Iterator[None]:
        """A context for a region that the file compiles, with or without ``fullgraph=True``."""
        yield

    @contextmanager
    def only_offered(self, _source: SourceModule) -> Iterator[None]:
        """A context for a public function of a library of which nothing shows that it is compiled."""
        yield


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
        shared: CallCache | None = None,
    ) -> None:
        self.project = project
        self.sink = sink
        #: The kinds of events that the sink subscribes to outside compiled regions; None for all.
        self.events_outside = events_outside
        self.frames: list[Frame] = []
        self.frame: Frame  # The innermost of them, the call being interpreted.
        #: Summaries of calls into other modules, from all files, and the log of their lookups in classes.
        self.shared = shared if shared is not None else CallCache()
        #: Summaries of constructors of imported modules, called for objects of classes of the scanned file.
        self.constructor_summaries: CallSummaries = {}
        self.lookups = project.lookups
        self.summaries = Summaries(self.lookups)
        #: How often the graph ended so far.
        self.graph_ends = 0
        #: The functions that are being interpreted, outermost first.
        self.active: list[FunctionInfo] = []
        #: How many expressions were evaluated so far.
        self.steps = 0
        #: The limit on ``steps``; lower while something is interpreted that may not use up all of them.
        self.most_steps = self.MAX_STEPS
        #: The module of the file that is scanned; the others are what it imports. None for a library interpreter.
        self.main: ModuleInfo | None = None
        self.reached = Reached()
        self.stores = Stores()
        #: Statements of the scanned file that were interpreted where rules see them: in compiled code, or outside
        #: functions. None where the file has no suppression: they only tell which suppressions are unused.
        self.seen_statements: set[cst.CSTNode] | None = None
        #: The resolved dotted name of each external call, by the id of its node (for ``with`` items).
        self.callees: dict[int, str] = {}
        #: The defaults that a test left out (``SkippedDefault.origin``) and that compiled code used.
        self.used_defaults: set[int] = set()
        #: The cached properties that were read, each with the compiled function that read it; None for eager code.
        self.read_properties: set[tuple[FunctionInfo, FunctionInfo | None]] = set()
        #: Whether the file declares a sample: the object that is called is new then.
        self.has_sample = False
        #: Whether the regions are forward passes of which nothing shows that they are compiled.
        self.assumed = False
        #: Of functions, with the class of their object: the parameters used as tensors, and those used as numbers.
        self.parameter_uses: dict[tuple[FunctionInfo, ClassInfo | None], tuple[set[str], set[str]]] = {}
        #: Whether something in the file is compiled for sizes that vary.
        self.has_dynamic_sizes = False
        #: What a run has shown, by file.
        self.run_facts: Mapping[Path, RunFacts] = {}
        #: Names of the scanned module that functions or loops rebind.
        self.rebound: frozenset[str] = frozenset()
        #: Objects of libraries made outside regions; ``ExternalObject.build`` counts from 1.
        self.builds: list[BuildRecord] = []
        #: Their numbers, by the id of the call that made them.
        self.build_numbers: dict[int, int] = {}
        #: The expression whose value is not used (an expression statement).
        self.unused: cst.CSTNode | None = None
        #: Records the values of expressions where a fix needs them.
        self.recorder: Recorder | None = None

    @property
    def library_interpreter(self) -> Interpreter:
        """The interpreter of imported modules, whose events nobody receives."""
        return self if self.main is None else self._library_interpreter

    @cached_property
    def _library_interpreter(self) -> Interpreter:
        return Interpreter(self.project, EventSink(), frozenset())

    def importer(self, key: str) -> ModuleInfo | None:
        """The module with this key."""
        if self.main is not None and self.main.key == key:
            return self.main
        return self.project.library.get(key)

    def noted(self) -> tuple[int, ...]:
        """Counts of what calls leave behind in the interpreter, apart from what objects hold."""
        used = len(self.used_defaults) + len(self.read_properties)
        return len(self.sink.hits), self.sink.others, used, len(self.builds), len(self.project.rebound)

    def emit(self, kind: type[Event], node: cst.CSTNode, **fields: Any) -> None:
        """Hand an event at ``node`` to the sink, unless it is on a path that only leads to an error."""
        if kind is Compile and fields["kwargs"].get("dynamic") == Const(True):
            self.has_dynamic_sizes = True
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
                assumed=self.assumed,
                optional=frame.optional,
                resumed=frame.resumed,
                resumes=frame.resumes,
                recomputed=frame.recomputed,
                entering=frame.entering,
            )
        return known

    def build(
        self, node: cst.CSTNode, qualname: str, args: tuple[Value, ...], kwargs: dict[str, Value]
    ) -> ExternalObject:
        """The object that a library call makes. Outside regions, what is done with it is recorded."""
        if self.frame.compiled or self.frame.muted or self.frame.module is not self.main:
            return ExternalObject(qualname, in_region=self.frame.compiled)
        known = self.build_numbers.setdefault(id(node), len(self.builds) + 1)
        if known > len(self.builds):
            self.builds.append(BuildRecord(node, self.site(), qualname, args, kwargs))
        return ExternalObject(qualname, known)

    def is_first_use(self, value: SkippedDefault) -> bool:
        """Whether a default that a test left out is used for the first time: the trace ends there."""
        if self.frame.muted or not self.frame.compiled:
            return False
        first = value.origin not in self.used_defaults
        self.used_defaults.add(value.origin)
        return first

    def is_first_read(self, cached: FunctionInfo) -> bool:
        """Whether a compiled function reads a cached property that neither it nor eager code has read before."""
        reader = self.frame.function if self.frame.compiled else None
        first = self.read_properties.isdisjoint({(cached, reader), (cached, None)})
        if not self.frame.muted:
            self.read_properties.add((cached, reader))
        return first and self.frame.compiled

    def built(self, value: Value) -> Build | None:
        """How an object of a library was made; None where that was not seen."""
        if not isinstance(value, ExternalObject) or not value.build:
            return None
        made = self.builds[value.build - 1]
        # What is done with it is left out: more may follow.
        return Build(made.node, made.site, made.qualname, made.args, made.kwargs)

    def record(self, value: ExternalObject) -> BuildRecord | None:
        """What is known of an object made outside regions."""
        return self.builds[value.build - 1] if value.build else None

    def finish(self) -> None:
        """Emit ``Build`` for the objects made outside regions, now that it is known what became of them."""
        for made in self.builds:
            self.sink.receive(made.event())

    def reach(self, info: FunctionInfo, names: Names) -> None:
        """Note that a function runs inside a compiled region with these arguments."""
        known = self.reached.functions.setdefault(id(info), {})
        receiver = next(iter(names.values()), None) if info.owner is not None else None
        if isinstance(receiver, Instance):
            self.reached.methods.add((id(info), id(receiver.info)))
        if info.module is self.main:
            for name, value in names.items():
                known.setdefault(name, set()).update(kinds(value))

    def start_new_graph(self, sure: bool = True) -> None:
        """Note that the graph ends here: after the statement, each function on the stack continues in a new graph.

        Not ``sure``: the graph ends on one path of the call, perhaps not on all.
        """
        self.graph_ends += 1
        for frame in reversed(self.frames):
            frame.resumed = frame.statement
            frame.resumes |= sure
            sure &= not frame.conditional

    def continue_in_new_graph(self) -> None:
        """Turn the local tensors into inputs of the next graph, since one ended."""
        if self.frame.compiled:
            names = self.frame.scope.names
            names.update({name: as_arguments(value) for name, value in names.items()})

    def path(
        self,
        *,
        conditional: bool = False,
        optional: bool = False,
        untaken: bool = False,
        muted: bool = False,
        whole_frame: BlockNode | None = None,
        trying: bool = False,
    ) -> FrameFlags | nullcontext[None]:
        """A context: the code inside runs under a condition, on an error path, or where a break drops the frame."""
        if not (conditional or optional or untaken or muted or whole_frame is not None or trying):
            return _SAME
        return FrameFlags(self.frame, whole_frame, conditional, optional, untaken, muted, trying)

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
