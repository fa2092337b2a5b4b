"""Summaries of calls in one file: a function is interpreted once for each kind of arguments, an object built once.

Two objects of a class of which nothing else is known are the same kind of argument, such as the ``config`` that each
constructor of a file is annotated with.
"""

from __future__ import annotations

from collections.abc import Hashable
from collections.abc import Mapping as Names
from typing import TYPE_CHECKING

from graphdoctor.static.domain.class_lookups import Lookup, LookupLog
from graphdoctor.static.domain.events import Block
from graphdoctor.static.domain.fast_frozen import frozen
from graphdoctor.static.domain.program import ClassInfo, FunctionInfo
from graphdoctor.static.domain.values import Function, Instance, Mapping, OneOf, Seq, Value

if TYPE_CHECKING:
    from graphdoctor.static.domain.frames import Frame

#: An object that holds more than this is a kind of its own.
_MOST_ATTRIBUTES = 8


@frozen
class Mark:
    """Where a call begins: the position of the lookup log, and how much calls had left behind until then."""

    lookups: int | None
    effects: tuple[int, ...]


@frozen
class _Known:
    """The result of a call, the path on which it was called, the recording it was part of (None: of none), and its
    lookups.

    The lookups are None where they were not recorded, or the call left something behind, such as a hit of a rule.
    """

    path: _Path
    value: Value
    recording: int | None
    lookups: tuple[Lookup | None, ...] | None


class Summaries:
    """The results of calls by their arguments, with the lookups in classes that ``lookups`` recorded meanwhile.

    ``effects``, the ``Interpreter.effect_counts``, are what calls leave behind besides their results.
    """

    def __init__(self, lookups: LookupLog) -> None:
        self._lookups = lookups
        self._known: dict[Hashable, list[_Known]] = {}
        #: The keys of the calls in which the graph ended.
        self.ends_graph: set[Hashable] = set()
        #: The attributes that constructors stored in their objects.
        self.stored: dict[Hashable, Names[str, Value]] = {}
        #: How often ``find`` gave the result of a call that may have left something behind.
        self._taken = 0

    def mark(self, effects: tuple[int, ...]) -> Mark:
        """The mark for ``keep`` of a call that begins now."""
        return Mark(self._lookups.position(), (*effects, self._taken))

    def find(self, key: Hashable, frame: Frame) -> Value | None:
        """The result of a call from ``frame``, if the same call was interpreted on a path that is at least as sure;
        else None.

        While a call is recorded for other files, what an earlier call left behind is no part of it: such a call is
        interpreted again.
        """
        recording = self._recording()
        for known in self._known.get(key, ()):
            if not _covers(known.path, frame):
                continue
            if known.lookups is not None:
                self._lookups.replay(known.lookups)
                return known.value
            if recording in (None, known.recording):
                self._taken += 1
                return known.value
        return None

    def keep(
        self, key: Hashable, frame: Frame, value: Value, mark: Mark | None = None, effects: tuple[int, ...] = ()
    ) -> None:
        """Remember the result of a call from ``frame`` that began at ``mark``."""
        block = frame.whole_frame if frame.compiled else None
        path = frame.muted, frame.conditional, frame.untaken, frame.recomputed, block
        left_nothing = mark is not None and mark.effects == (*effects, self._taken)
        lookups = self._lookups.since(mark.lookups) if mark is not None and left_nothing else None
        self._known.setdefault(key, []).append(_Known(path, value, self._recording(), lookups))

    def _recording(self) -> int | None:
        return None if self._lookups.log is None else self._lookups.recordings


#: Of a frame: muted, conditional, untaken, recomputed, whole_frame.
_Path = tuple[bool, bool, bool, bool, Block | None]


def _covers(path: _Path, frame: Frame) -> bool:
    """Whether rules saw on ``path`` all that they would see from ``frame``, and as surely."""
    muted, conditional, untaken, recomputed, whole_frame = path
    if frame.muted:
        return True
    if (
        muted
        or recomputed != frame.recomputed
        or (conditional and not frame.conditional)
        or (untaken and not frame.untaken)
    ):
        return False
    return bool(whole_frame) or not (frame.compiled and frame.whole_frame)


def call_key(info: FunctionInfo, function: Function, names: Names[str, Value], frame: Frame) -> Hashable | None:
    """What the result of a call from ``frame`` depends on; None where that is not known."""
    try:
        arguments = tuple([(name, _kind(value, not frame.compiled)) for name, value in names.items()])
        # The key holds the objects and not their ids, since the id of a function that is gone may be given to another.
        return _hashed((info, function.cells, arguments, frame.compiled, frame.training))
    except TypeError:
        return None


def object_key(info: ClassInfo, args: tuple[Value, ...], kwargs: Names[str, Value]) -> Hashable | None:
    """What an object that is made outside compiled code depends on; None where that is not known."""
    try:
        arguments = tuple(_kind(a, True) for a in args), tuple((k, _kind(v, True)) for k, v in kwargs.items())
        return _hashed((info, arguments))
    except TypeError:
        return None


def _hashed(key: Hashable) -> Hashable:
    """``key``. Raises TypeError where it holds what has no hash."""
    hash(key)
    return key


def _kind(value: Value, deep: bool) -> Hashable:
    """What stands for ``value``. ``deep`` looks into objects: in compiled code what they hold may change later."""
    kind = type(value)
    if kind is Instance:
        return _object(value, deep)  # type: ignore[arg-type]
    if kind is OneOf:
        # By which path each of them came does not matter.
        return "|", frozenset([_kind(option, deep) for option in value.options])  # type: ignore[attr-defined]
    if kind is Seq and value.items is not None:  # type: ignore[attr-defined]
        return (value.kind, *(_kind(item, deep) for item in value.items))  # type: ignore[attr-defined]
    if kind is Mapping:
        return ("{", *((k, _kind(v, deep)) for k, v in value.items), value.rest)  # type: ignore[attr-defined]
    return value


def _object(value: Instance, deep: bool) -> Hashable:
    if not value.attrs:
        return "object", value.info, value.may_be_subclass
    if not deep and value.changes:
        return value, value.changes
    if not deep or value.info.is_module or len(value.attrs) > _MOST_ATTRIBUTES:
        return value
    if any(isinstance(held, (Instance, OneOf, Seq, Mapping)) for held in value.attrs.values()):
        return value
    return ("object", value.info, value.may_be_subclass, *sorted(value.attrs.items()))
