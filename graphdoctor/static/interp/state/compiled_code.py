"""What compiled code did so far: which functions ran, what they stored, and what they used for the first time."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphdoctor.static.domain.frames import Frame, Names
from graphdoctor.static.domain.program import FunctionInfo
from graphdoctor.static.domain.value_functions import kinds
from graphdoctor.static.domain.values import Instance, SkippedDefault


@dataclass(eq=False)
class Reached:
    """The functions that ran inside compiled regions, by id."""

    #: With the kinds of values that their parameters had, for functions of the scanned file.
    functions: dict[int, dict[str, set[type]]] = field(default_factory=dict)
    #: The methods among them, each with the class of its object, by id: an inherited method may call methods that the
    #: class overrides.
    methods: set[tuple[int, int]] = field(default_factory=set)

    def add(self, info: FunctionInfo, names: Names, with_kinds: bool) -> None:
        """Note that a function runs with these arguments."""
        known = self.functions.setdefault(id(info), {})
        receiver = next(iter(names.values()), None) if info.owner is not None else None
        if isinstance(receiver, Instance):
            self.methods.add((id(info), id(receiver.info)))
        if with_kinds:
            for name, value in names.items():
                known.setdefault(name, set()).update(kinds(value))


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


class FirstUses:
    """What a trace cannot pass the first time, and passes later: some defaults, and cached properties."""

    def __init__(self) -> None:
        #: The defaults that a test left out (``SkippedDefault.origin``) and that compiled code used.
        self._defaults: set[int] = set()
        #: The cached properties that were read, each with the compiled function that read it; None for eager code.
        self._properties: set[tuple[FunctionInfo, FunctionInfo | None]] = set()
        #: How often one was read that the same compiled call had filled.
        self._filled = 0

    def __len__(self) -> int:
        return len(self._defaults) + len(self._properties) + self._filled

    def of_default(self, value: SkippedDefault, frame: Frame) -> bool:
        """Note that a default is used. Returns whether that is the first time: the trace ends there."""
        if frame.muted or not frame.compiled:
            return False
        first = value.origin not in self._defaults
        self._defaults.add(value.origin)
        return first

    def of_property(self, cached: FunctionInfo, slot: tuple[Instance, str], stores: Stores, frame: Frame) -> bool:
        """Note that a cached property is read, which stores it in ``slot``. Returns whether that is the first time.

        A function that read it before, eager code, and a read of the same object that each such call makes, have
        filled it.
        """
        if slot in stores.assigned_first:
            self._filled += 1
            return False
        if frame.compiled and not (frame.muted or frame.conditional):
            stores.assigned_first.add(slot)
        reader = frame.function if frame.compiled else None
        first = self._properties.isdisjoint({(cached, reader), (cached, None)})
        if not frame.muted:
            self._properties.add((cached, reader))
        return first and frame.compiled
