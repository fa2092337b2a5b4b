"""Replays calls into modules that many files import, such as ``create_causal_mask(config=self.config, ...)``.

Half of what a scan interprets lies in such modules, and each file calls them with objects of classes of its own, such
as its configuration. The outcome of a call depends on its arguments, and of those classes only on what was looked up in
them. So a summary of the call is kept with these lookups, and replayed where they give the same. Calls outside compiled
code, as from a constructor, are replayed too. So are constructors that the classes of a file inherit: within the file,
and in other files where they used no code of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from graphdoctor.static.domain.class_lookups import Lookup
from graphdoctor.static.domain.events import Block
from graphdoctor.static.domain.fast_frozen import frozen
from graphdoctor.static.domain.program import ClassInfo, ModuleInfo
from graphdoctor.static.domain.value_functions import kinds
from graphdoctor.static.domain.values import (  # fmt: skip
    UNKNOWN,
    Class,
    Const,
    External,
    ExternalObject,
    Function,
    Imported,
    Instance,
    LazyText,
    Mapping,
    Method,
    NameOf,
    OneOf,
    PythonValue,
    Seq,
    Tensor,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from graphdoctor.static.interp.interpreter import Interpreter

#: Calls of fewer steps are interpreted again in less time than they are compared.
_FEWEST_STEPS = 40
#: Objects that arguments may hold, and outcomes that are kept for the same arguments.
_MOST_OBJECTS = 40
_MOST_OUTCOMES = 12
#: Callers after which the depth of the call may matter.
_DEEPEST = 12
_PLAIN = frozenset((Const, Tensor, PythonValue, Unknown, External, Imported, LazyText))
#: The types of what lookups take and give, beside classes, functions and containers.
_PLAIN_ANSWERS = frozenset((Const, Tensor, PythonValue, Unknown, External, type(None), bool, int, str))


class _NotCacheable(Exception):
    """The call holds something of the scanned file, or something whose state cannot be copied."""


@frozen
class CallSummary:
    """Summary of a call: result, final heap, findings, and the class lookups it depends on (class by number)."""

    lookups: tuple[tuple[int, str, tuple[Any, ...], Any], ...]
    #: The classes of arguments of which the call made objects: it may have taken the class from an argument.
    same: tuple[tuple[int, ClassInfo], ...]
    result: Hashable
    #: What the objects hold afterwards, and the classes of those that are new.
    contents: tuple[_Contents | None, ...]
    made: tuple[tuple[ClassInfo, _Origin], ...]
    hits: tuple[Any, ...]
    calls: tuple[Any, ...]
    #: The block around the call because of which a break drops a whole function. Some of the hits name it.
    whole_frame: Block | None
    ends_graph: bool


#: By function and arguments.
CallSummaries = dict[Hashable, list[CallSummary]]


@dataclass
class CallCache:
    """Summaries of calls that several files may make; those about classes of one file stay with its interpreter."""

    _known: CallSummaries = field(default_factory=dict)
    #: Whether any file so far drew numbers in compiled code, which calls may give back.
    has_drawn: bool = False

    def begin(self, interpreter: Interpreter, function: Function, names: dict[str, Value]) -> Call | None:
        """The call from the file that is scanned, if others may make the same one."""
        info, frame, main = function.info, interpreter.frame, interpreter.main
        if (
            main is None
            or info.module is main
            or frame.module is not main
            or interpreter.project.lookups.log is not None
        ):
            return None
        builds = not frame.compiled and info.name == "__init__"
        if frame.muted or frame.trying or frame.recomputed or len(interpreter.frames) > _DEEPEST:
            return None
        if not _of_module(function) or any(active.module is not main for active in interpreter.active):
            return None
        state = _State(main, builds)
        try:
            arguments, contents = state.arguments(names)
            flags = frame.compiled, builds, frame.conditional, frame.untaken, frame.guessed, bool(frame.whole_frame)
            key = (
                info,
                arguments,
                contents,
                state.class_facts(),
                flags,
                frame.training,
                interpreter.region_facts.has_sample,
                interpreter.region_facts.has_dynamic_sizes,
            )
            known = *self._known.get(key, ()), *interpreter.constructor_summaries.get(key, ())
        except (_NotCacheable, TypeError):
            return None
        return Call(interpreter, state, contents, known, partial(self._keep, interpreter.constructor_summaries, key))

    def _keep(self, of_file: CallSummaries, key: Hashable, outcome: CallSummary, any_file: bool) -> None:
        outcomes = (self._known if any_file else of_file).setdefault(key, [])
        if len(outcomes) < _MOST_OUTCOMES:
            outcomes.append(outcome)


class Call:
    """One call that may be replayed."""

    def __init__(
        self,
        interpreter: Interpreter,
        state: _State,
        before: tuple[_Contents, ...],
        known: Sequence[CallSummary],
        keep: Callable[[CallSummary, bool], None],
    ) -> None:
        self._interpreter = interpreter
        self._state = state
        self._before = before
        self._known = known
        self._keep = keep
        self._of_file = state.of_file
        self._steps = interpreter.steps
        self._graph_ends = interpreter.graph_ends
        self._first = len(interpreter.sink.hits)
        _, *self._others = interpreter.effect_counts()
        self._begun = interpreter.stores.assigned_first

    def replayed(self) -> Value | None:
        """The result of the call, where a summary of it can be replayed."""
        classes = self._state.classes
        for outcome in self._known:
            if not all(classes[number] is info for number, info in outcome.same):
                continue
            if all(getattr(classes[number], how)(*what) == answer for number, how, what, answer in outcome.lookups):
                return self._replay(outcome)
        return None

    def _replay(self, outcome: CallSummary) -> Value:
        """Apply the effects of the call that ``outcome`` sums up. Returns its result."""
        objects = [*self._state.objects, *(Instance(info, {}, **vars(origin)) for info, origin in outcome.made)]
        for instance, held in zip(objects, outcome.contents, strict=True):
            if held is not None:
                attrs = {name: self._decoded(value, objects) for name, value in held.attributes}
                if self._interpreter.frame.compiled and any(
                    name in attrs and kinds(attrs[name]) != kinds(before) for name, before in instance.attrs.items()
                ):
                    instance.changes += 1
                    self._interpreter.stores.new_kinds += 1
                instance.attrs = attrs
        interpreter, frame = self._interpreter, self._interpreter.frame
        interpreter.call_graph.repeat(outcome.calls)
        interpreter.sink.repeat(outcome.hits, outcome.whole_frame, frame.whole_frame, frame.calling())
        if outcome.ends_graph:
            interpreter.start_new_graph(sure=False)
        result: Value = self._decoded(outcome.result, objects)
        return result

    def _decoded(self, value: Any, objects: Sequence[Instance]) -> Any:
        """The encoded value, with ``objects`` and the classes of the arguments in the places of those it held."""
        if type(value) is tuple:
            return tuple(self._decoded(item, objects) for item in value)
        if type(value) is not _Encoded:
            return value
        if value.kind is Instance:
            return objects[value.of]
        if value.kind is NameOf:
            return NameOf("str", info=self._state.classes[value.of])
        if value.kind is Class:
            number, exact = value.of
            return Class(self._state.classes[number], exact)
        return value.kind(*self._decoded(value.of, objects))

    def keep(self, result: Value) -> None:
        """Keep a summary of the call, unless a lookup it made is not known."""
        interpreter, state = self._interpreter, self._state
        log = interpreter.project.lookups.since(0) or ()
        quick = interpreter.steps - self._steps < _FEWEST_STEPS
        # Of what is noted a summary holds only the hits. A region that begins in the call says that the file compiles
        # something.
        others = [*interpreter.effect_counts()[1:]]
        if quick or others != self._others or None in log or interpreter.stores.assigned_first is not self._begun:
            return
        try:
            frozen = state.frozen(result)
            contents = state.contents()
            made = state.made(len(self._before))
        except (_NotCacheable, TypeError):
            return
        if state.of_file != self._of_file:
            # It made an object of a class of the file, which no other file may see.
            return
        before = (*self._before, *(None for _ in made))
        changed = tuple(None if now == then else now for now, then in zip(contents, before, strict=True))
        hits = interpreter.sink.hits_of_call(self._first, len(interpreter.frame.calling()))
        ends_graph = interpreter.graph_ends != self._graph_ends
        same = state.same(info for info, _ in made)
        lookups, calls, whole_frame = state.lookups(log), interpreter.call_graph.edges(), interpreter.frame.whole_frame
        any_file = not state.of_file or not (hits or state.is_of_file(lookups, *(info for info, _ in made)))
        self._keep(CallSummary(lookups, same, frozen, changed, made, hits, calls, whole_frame, ends_graph), any_file)


class _State:
    """Objects that values hold, numbered as they are met, so that other objects can take their places."""

    def __init__(self, main: ModuleInfo, builds: bool) -> None:
        self._main = main
        #: Whether the call is one of a constructor: its objects may be of classes of the scanned file.
        self._builds = builds
        #: Whether an object is of a class of the scanned file.
        self.of_file = False
        self.objects: list[Instance] = []
        #: The classes of the arguments.
        self.classes: list[ClassInfo] = []
        #: Classes that the arguments hold as values.
        self._held: set[Class] = set()

    def arguments(self, names: dict[str, Value]) -> tuple[Hashable, tuple[_Contents, ...]]:
        """What the arguments are, and what the objects in them hold. Raises _NotCacheable."""
        found = self._frozen_arguments(names)
        self.classes = list(dict.fromkeys(value.info for value in self.objects))
        if any(held.info in self.classes for held in self._held):
            # An argument holds the class of an object. Now that the classes are known, it is written as a number, so
            # that a replay puts the class of its own object there.
            found = self._frozen_arguments(names)
        return found

    def _frozen_arguments(self, names: dict[str, Value]) -> tuple[Hashable, tuple[_Contents, ...]]:
        return tuple((name, self.frozen(value)) for name, value in names.items()), self.contents()

    def frozen(self, value: Value) -> Hashable:
        """``value`` with numbers for the objects in it. Raises _NotCacheable."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        if isinstance(value, ExternalObject) and not value.build and value.shown is None:
            return value
        if isinstance(value, Instance):
            return _Encoded(Instance, self._number(value))
        if isinstance(value, Seq):
            items = None if value.items is None else tuple(map(self.frozen, value.items))
            return _Encoded(Seq, (value.kind, items, self.frozen(value.element)))
        if isinstance(value, Mapping):
            rest = None if value.rest is None else self.frozen(value.rest)
            return _Encoded(Mapping, (tuple((k, self.frozen(v)) for k, v in value.items), rest))
        if isinstance(value, OneOf):
            return _Encoded(OneOf, (tuple(map(self.frozen, value.options)),))
        if isinstance(value, Method):
            return _Encoded(Method, (self.frozen(value.receiver), value.name))
        if isinstance(value, NameOf) and value.info in self.classes:
            return _Encoded(NameOf, self.classes.index(value.info))
        if isinstance(value, Function) and value.bound is None and _of_module(value):
            if value.info.module is not self._main:
                return value
        elif isinstance(value, Class) and value.info.module is not self._main:
            return self._class(value)
        raise _NotCacheable

    def _class(self, value: Class) -> Hashable:
        """A class as a value, by its number where an object of the arguments has it. Raises _NotCacheable.

        Such a class that the arguments did not hold before the call may be one that the code names, the same one in
        each call, or the class of the object: a replay could not tell which.
        """
        if value.info not in self.classes:
            self._held.add(value)
            return value
        if value not in self._held:
            raise _NotCacheable
        return _Encoded(Class, (self.classes.index(value.info), value.exact))

    def _number(self, value: Instance) -> int:
        for number, known in enumerate(self.objects):
            if known is value:
                return number
        if value.info.module is self._main:
            self.of_file = True
        if len(self.objects) >= _MOST_OBJECTS or (self.of_file and not self._builds):
            raise _NotCacheable
        self.objects.append(value)
        return len(self.objects) - 1

    def contents(self) -> tuple[_Contents, ...]:
        """What each object holds; those in it are objects, too."""
        found: list[_Contents] = []
        for value in self.objects:
            attributes = tuple((name, self.frozen(held)) for name, held in value.attrs.items())
            found.append(_Contents(attributes, _origin(value)))
        return tuple(found)

    def class_facts(self) -> Hashable:
        """The classes of the objects in the arguments, and the facts about these classes that calls read without a
        lookup.
        """
        numbers = tuple(self.classes.index(value.info) for value in self.objects)
        return numbers, tuple((c.is_module, c.externals, self._bases(c), bool(c.fields)) for c in self.classes)

    def _bases(self, info: ClassInfo) -> tuple[ClassInfo, ...]:
        """The bases of a class in other files. Of those in the file, only what is looked up in them counts."""
        return tuple(base for base in info.mro[1:] if base.module is not self._main)

    def is_of_file(self, *found: Any) -> bool:
        """Whether anything in ``found`` is code of the file, or may be."""
        return any(map(self._is_of_file, found))

    def _is_of_file(self, found: Any) -> bool:
        kind = type(found)
        if kind is tuple:
            return any(map(self._is_of_file, found))
        if kind is ClassInfo:
            return found.module is self._main
        if kind is Function:
            return found.bound is not None or not _of_module(found) or found.info.module is self._main
        if kind is Class:
            return found.info.module is self._main
        if kind is Seq:
            return self.is_of_file(found.items, found.element)
        if kind is Mapping:
            return self.is_of_file(found.items, found.rest)
        if kind is OneOf:
            return self.is_of_file(found.options)
        return kind not in _PLAIN_ANSWERS

    def made(self, first: int) -> tuple[tuple[ClassInfo, _Origin], ...]:
        """How the objects from ``first`` on are made."""
        return tuple((value.info, _origin(value)) for value in self.objects[first:])

    def same(self, used: Iterable[ClassInfo]) -> tuple[tuple[int, ClassInfo], ...]:
        """Those of the classes ``used`` that arguments have, by their numbers."""
        return tuple((self.classes.index(info), info) for info in dict.fromkeys(used) if info in self.classes)

    def lookups(self, log: Sequence[Lookup | None]) -> tuple[tuple[int, str, tuple[Any, ...], Any], ...]:
        """The lookups in classes of the arguments, with the classes by number."""
        lookups = (lookup for lookup in log if lookup is not None and lookup[0] in self.classes)
        return tuple((self.classes.index(info), how, what, answer) for info, how, what, answer in lookups)


@frozen
class _Origin:
    """Where an object comes from: the fields of ``Instance`` beside its class and attributes."""

    shared: bool
    is_representative: bool
    inside: bool
    may_be_subclass: bool


def _origin(value: Instance) -> _Origin:
    return _Origin(value.shared, value.is_representative, value.inside, value.may_be_subclass)


@frozen
class _Contents:
    """What an object holds."""

    attributes: tuple[tuple[str, Any], ...]
    origin: _Origin


@frozen
class _Encoded:
    """A container, an object or the name of a class: ``of`` what it holds, or the number of the object or class."""

    kind: type
    of: Any


def _of_module(function: Function) -> bool:
    """Whether a function closes over nothing but its module, and over names of which nothing is known."""
    cells = function.cells
    while cells is not None and cells.kind == "function" and all(v is UNKNOWN for v in cells.names.values()):
        cells = cells.parent
    return cells is None or cells.kind == "module"
