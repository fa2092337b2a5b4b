"""What names and attributes stand for at one place of a script, and how several paths come together.

Names live in scopes, attributes and elements in objects. Scopes and objects are numbers, so that a copy of the state,
which each arm of an ``if`` gets, is a copy of tables, and all names of an object see what is done to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from graphdoctor.static.usage.events import MISSING, Operation, TrackedObject, unwrapped

_Names = Mapping[str, TrackedObject]
_Key = TypeVar("_Key")


@dataclass(eq=False)
class State:
    """Scopes, objects, and what was done to objects. The tables in it are replaced, never changed."""

    scopes: dict[int, _Names] = field(default_factory=dict)
    #: By the number of the object: attributes by name, elements as ``[0]``.
    objects: dict[int, _Names] = field(default_factory=dict)
    steps: dict[int, tuple[Operation, ...]] = field(default_factory=dict)

    def copy(self) -> State:
        """A state of its own for one path."""
        return State(dict(self.scopes), dict(self.objects), dict(self.steps))

    def bind(self, scope: int, name: str, tracked: TrackedObject) -> None:
        """Bind ``name`` in a scope."""
        self.scopes[scope] = {**self.scopes.get(scope, {}), name: tracked}

    def put(self, number: int, name: str, tracked: TrackedObject) -> None:
        """Store an attribute or element in an object."""
        self.objects[number] = {**self.objects.get(number, {}), name: tracked}

    def fill_in(self, number: int, other: State) -> None:
        """Add the attributes of an object that only ``other`` has: one method sets them, others use them.

        None stands for an attribute that is set later.
        """
        mine = self.objects.get(number, {})
        unset = {name for name, value in mine.items() if value.value is None or value.is_unknown_part}
        for name, value in other.objects.get(number, {}).items():
            if (name not in mine or name in unset) and value.value is not None and not value.is_unknown_part:
                self.put(number, name, value)
        self.objects = {**other.objects, **self.objects}
        self.steps = {**other.steps, **self.steps}

    def find(self, scopes: Sequence[int], name: str) -> TrackedObject | None:
        """What ``name`` stands for in the innermost of ``scopes`` that has it."""
        return next((self.scopes[s][name] for s in reversed(scopes) if name in self.scopes.get(s, ())), None)

    def record(self, tracked: TrackedObject, step: Operation) -> None:
        """Note that ``step`` worked on ``tracked``; a call of a wrapper is one of what it wraps, too."""
        if tracked.number:
            self.steps[tracked.number] = (*self.steps.get(tracked.number, ()), step)
        if tracked.inner is not None and step.name == ".__call__":
            self.record(tracked.inner, step)

    def history(self, tracked: TrackedObject) -> tuple[Operation, ...]:
        """What was done to ``tracked`` and to what it wraps, in order."""
        own = self.steps.get(tracked.number, ()) if tracked.number else tracked.steps
        if tracked.inner is None:
            return own
        return tuple(sorted({*own, *self.history(tracked.inner)}, key=lambda step: step.order))

    def now(self, tracked: TrackedObject) -> TrackedObject:
        """``tracked`` with what was done to it so far."""
        steps = self.history(tracked)
        return tracked if steps == tracked.steps else replace(tracked, steps=steps)

    def join(self, one: TrackedObject, other: TrackedObject) -> TrackedObject:
        """One of two: the one that wraps the other, because its steps have the order; else the one with more steps."""
        if one is other or (one.number and one.number == other.number):
            return one
        if _wraps(one, other):
            return one
        if _wraps(other, one):
            return other
        kept = other if len(self.history(other)) > len(self.history(one)) else one
        same = unwrapped(one).number == unwrapped(other).number != 0
        value = kept.value if one.value == other.value else MISSING
        return replace(kept, unsure=not same, value=value, others=_others(kept, one if kept is other else other))


#: The most alternatives that are told apart.
_MOST_OTHERS = 4


def _others(kept: TrackedObject, other: TrackedObject) -> tuple[TrackedObject, ...]:
    """What ``kept`` is on other paths, of which ``other`` is one; where one of them is a wrapper."""
    found = (*kept.others, replace(other, others=()), *other.others)
    wrapped = any(each.inner is not None for each in (kept, *found))
    known = len(found) <= _MOST_OTHERS and all(each.others or not each.unsure for each in (kept, other))
    return tuple(replace(each, unsure=False) for each in found) if wrapped and known else ()


def _wraps(one: TrackedObject, other: TrackedObject) -> bool:
    inner = one.inner
    return inner is not None and (inner.number == other.number != 0 or _wraps(inner, other))


def merge(states: Sequence[State]) -> State:
    """Either of several states."""
    merged = states[0]
    for other in states[1:]:
        merged = _either(merged, other)
    return merged


def _either(one: State, other: State) -> State:
    merged = State(steps=dict(one.steps))
    known = one.steps
    for number in [n for n, steps in other.steps.items() if known.get(n) is not steps]:
        steps = {*known.get(number, ()), *other.steps[number]}
        merged.steps[number] = tuple(sorted(steps, key=lambda step: step.order))
    merged.scopes = _tables(merged, one.scopes, other.scopes)
    merged.objects = _tables(merged, one.objects, other.objects)
    return merged


def _tables(merged: State, one: Mapping[_Key, _Names], other: Mapping[_Key, _Names]) -> dict[_Key, _Names]:
    found = {**other, **one}
    for key in [k for k, names in other.items() if one.get(k, names) is not names]:
        mine, names = one[key], other[key]
        table = {**names, **mine}
        for name in [n for n in names if n in mine and names[n] is not mine[n]]:
            table[name] = merged.join(mine[name], names[name])
        found[key] = table
    return found
