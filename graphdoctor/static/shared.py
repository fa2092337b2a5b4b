"""Calls into modules that many files import, told once: ``create_causal_mask(config=self.config, ...)``.

Half of what a scan interprets lies in such modules, and each file calls them with objects of classes of its own, such
as its configuration. What the call comes to depends on the arguments, and of those classes only on what was looked up
in them. So it is kept with what was looked up, and told again where all of that is the same. Constructors that the
classes of one file inherit are told again within the file.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from graphdoctor.static.asked import Lookup
from graphdoctor.static.index import ClassInfo, ModuleInfo
from graphdoctor.static.values import (
    Class,
    Const,
    Deferred,
    Either,
    External,
    Function,
    Imported,
    Instance,
    Mapping,
    Method,
    NameOf,
    Py,
    Returned,
    Seq,
    Tensor,
    Unknown,
    Value,
)  # fmt: skip

if TYPE_CHECKING:
    from graphdoctor.static.machine import Machine

#: Calls of fewer steps are interpreted anew sooner than they are compared.
_FEWEST_STEPS = 40
#: Objects that arguments may hold, and outcomes that are kept for the same arguments.
_MOST_OBJECTS = 40
_MOST_OUTCOMES = 12
#: Callers behind which the depth of the call may matter.
_DEEPEST = 12
_PLAIN = (Tensor, Py, Unknown, External, Imported, Deferred)


class _Alone(Exception):
    """The call holds something of the scanned file, or something whose state cannot be copied."""


@dataclass(frozen=True)
class _Outcome:
    """What a call came to, with what was asked of which class of the arguments for that, by its number."""

    lookups: tuple[tuple[int, str, tuple[Any, ...], Any], ...]
    result: Hashable
    #: What the objects hold afterwards, and the classes of those that are new.
    contents: tuple[_Held | None, ...]
    made: tuple[tuple[ClassInfo, bool, bool, bool], ...]
    hits: tuple[Any, ...]
    restarts: bool


#: By function and arguments.
Outcomes = dict[Hashable, list[_Outcome]]


@dataclass
class Shared:
    """The outcomes of calls that other files may make; what concerns classes of one file is kept with its machine."""

    _known: Outcomes = field(default_factory=dict)

    def begin(self, machine: Machine, function: Function, names: dict[str, Value]) -> Call | None:
        """The call from the file that is scanned, if others may make the same one."""
        info, frame, main = function.info, machine.frame, machine.main
        if main is None or info.module is main or frame.module is not main or machine.asked.log is not None:
            return None
        builds = not frame.compiled and info.name == "__init__"
        if not (frame.compiled or builds) or frame.muted or frame.trying or frame.whole_frame:
            return None
        if len(machine.frames) > _DEEPEST:
            return None
        if not _of_module(function) or any(active.module is not main for active in machine.active):
            return None
        state = _State(main, builds)
        try:
            arguments = tuple((name, state.frozen(value)) for name, value in names.items())
            contents = state.contents()
            flags = builds, frame.conditional, frame.untaken, machine.fresh, machine.dynamic
            key = info, arguments, contents, state.take_classes(), flags
            outcomes = machine.outcomes if state.of_file else self._known
            known = outcomes.get(key, ())
        except (_Alone, TypeError):
            return None
        return Call(machine, state, contents, known, partial(_keep, outcomes, key))


def _keep(outcomes: Outcomes, key: Hashable, outcome: _Outcome) -> None:
    outcomes.setdefault(key, []).append(outcome)


class Call:
    """One call that may be told again."""

    def __init__(
        self,
        machine: Machine,
        state: _State,
        before: tuple[_Held, ...],
        known: Sequence[_Outcome],
        keep: Callable[[_Outcome], None],
    ) -> None:
        self._machine = machine
        self._state = state
        self._before = before
        self._known = known
        self._keep = keep
        self._of_file = state.of_file
        self._steps = machine.steps
        self._restarts = machine.restarts
        self._first = len(machine.sink.hits)
        self._others = self._noted()

    def told(self) -> Value | None:
        """What the call gives, where it was made before."""
        classes = self._state.classes
        for outcome in self._known:
            if all(getattr(classes[number], how)(*what) == answer for number, how, what, answer in outcome.lookups):
                return self._tell(outcome)
        return None

    def _tell(self, outcome: _Outcome) -> Value:
        objects = [*self._state.objects, *(Instance(made, {}, *flags) for made, *flags in outcome.made)]
        for instance, held in zip(objects, outcome.contents, strict=True):
            if held is not None:
                instance.attrs = {name: self._thawed(value, objects) for name, value in held.attributes}
        self._machine.sink.hits += outcome.hits
        if outcome.restarts:
            self._machine.restart()
        result: Value = self._thawed(outcome.result, objects)
        return result

    def _thawed(self, value: Any, objects: Sequence[Instance]) -> Any:
        """What was frozen, with ``objects`` and the classes of the arguments in the places of those it held."""
        if type(value) is tuple:
            return tuple(self._thawed(item, objects) for item in value)
        if type(value) is not _Frozen:
            return value
        if value.kind is Instance:
            return objects[value.of]
        if value.kind is NameOf:
            return NameOf("str", info=self._state.classes[value.of])
        return value.kind(*self._thawed(value.of, objects))

    def _noted(self) -> tuple[int, ...]:
        """How much was noted so far that an outcome does not hold."""
        machine = self._machine
        return machine.sink.others, len(machine.used_missing), len(machine.builds)

    def keep(self, result: Value) -> None:
        """Keep what the call came to, if all is known that was asked for it."""
        machine, state = self._machine, self._state
        log = machine.asked.since(0) or ()
        quick = machine.steps - self._steps < _FEWEST_STEPS
        if quick or self._noted() != self._others or None in log or len(self._known) >= _MOST_OUTCOMES:
            return
        try:
            frozen = state.frozen(result)
            contents = state.contents()
            made = tuple(state.made(len(self._before)))
        except (_Alone, TypeError):
            return
        if state.of_file != self._of_file:
            # What it made is of a class of the file, which no other file may be told.
            return
        before = (*self._before, *(None for _ in made))
        changed = tuple(None if now == then else now for now, then in zip(contents, before, strict=True))
        hits = tuple(machine.sink.hits[self._first :])
        self._keep(_Outcome(state.lookups(log), frozen, changed, made, hits, machine.restarts != self._restarts))


class _State:
    """Objects that values hold, numbered as they are met, so that other objects can take their places."""

    def __init__(self, main: ModuleInfo, builds: bool) -> None:
        self._main = main
        #: The call is one of a constructor, whose objects may be of classes of the file.
        self._builds = builds
        #: Some are.
        self.of_file = False
        self.objects: list[Instance] = []
        #: The classes of the arguments.
        self.classes: list[ClassInfo] = []

    def frozen(self, value: Value) -> Hashable:
        """``value`` with numbers for the objects in it. Raises _Alone."""
        kind = type(value)
        if kind in _PLAIN or kind is Const or (kind is Returned and not value.build):  # type: ignore[attr-defined]
            return value
        if isinstance(value, Seq):
            items = None if value.items is None else tuple(map(self.frozen, value.items))
            return _Frozen(Seq, (value.kind, items, self.frozen(value.element)))
        if isinstance(value, Mapping):
            rest = None if value.rest is None else self.frozen(value.rest)
            return _Frozen(Mapping, (tuple((k, self.frozen(v)) for k, v in value.items), rest))
        if isinstance(value, Either):
            return _Frozen(Either, (tuple(map(self.frozen, value.options)),))
        if isinstance(value, Method):
            return _Frozen(Method, (self.frozen(value.receiver), value.name))
        if isinstance(value, NameOf) and value.info in self.classes:
            return _Frozen(NameOf, self.classes.index(value.info))
        if isinstance(value, Instance):
            return _Frozen(Instance, self._number(value))
        if isinstance(value, Function) and value.bound is None and _of_module(value):
            if value.info.module is not self._main:
                return value
        elif isinstance(value, Class) and value.info.module is not self._main and value.info not in self.classes:
            return value
        raise _Alone

    def _number(self, value: Instance) -> int:
        for number, known in enumerate(self.objects):
            if known is value:
                return number
        if value.info.module is self._main:
            self.of_file = True
        if len(self.objects) >= _MOST_OBJECTS or (self.of_file and not self._builds):
            raise _Alone
        self.objects.append(value)
        return len(self.objects) - 1

    def contents(self) -> tuple[_Held, ...]:
        """What each object holds; those in it are objects, too."""
        found: list[_Held] = []
        for value in self.objects:
            attributes = tuple((name, self.frozen(held)) for name, held in value.attrs.items())
            found.append(_Held(attributes, value.shared, value.many, value.promised))
        return tuple(found)

    def take_classes(self) -> Hashable:
        """Take the classes of the objects for those of the arguments; what is known of them without asking."""
        for value in self.objects:
            if value.info not in self.classes:
                self.classes.append(value.info)
        numbers = tuple(self.classes.index(value.info) for value in self.objects)
        return numbers, tuple((c.is_module, c.externals, c.mro[1:], bool(c.fields)) for c in self.classes)

    def made(self, first: int) -> list[tuple[ClassInfo, bool, bool, bool]]:
        """Of what the objects from ``first`` on are made. Raises _Alone where that is a class of the arguments."""
        if any(value.info in self.classes for value in self.objects[first:]):
            raise _Alone
        return [(value.info, value.shared, value.many, value.promised) for value in self.objects[first:]]

    def lookups(self, log: Sequence[Lookup | None]) -> tuple[tuple[int, str, tuple[Any, ...], Any], ...]:
        """What was asked of the classes of the arguments."""
        asked = (lookup for lookup in log if lookup is not None and lookup[0] in self.classes)
        return tuple((self.classes.index(info), how, what, answer) for info, how, what, answer in asked)


@dataclass(frozen=True)
class _Held:
    """What an object holds."""

    attributes: tuple[tuple[str, Any], ...]
    shared: bool
    many: bool
    promised: bool


@dataclass(frozen=True)
class _Frozen:
    """A container, an object or the name of a class: ``of`` what it holds, or the number of the object or class."""

    kind: type
    of: Any


def _of_module(function: Function) -> bool:
    """Whether a function closes over nothing but its module."""
    return function.cells is None or function.cells.kind == "module"
