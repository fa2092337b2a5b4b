"""What names stand for at one place of a script, and how two arms of an ``if`` come together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import libcst as cst

from graphdoctor.static.usage import Step, Thing


@dataclass(eq=False)
class State:
    """Names and objects. An object is a number, so that all its names see what is done to it."""

    names: dict[str, Thing] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    classes: dict[str, cst.ClassDef] = field(default_factory=dict)
    steps: dict[int, tuple[Step, ...]] = field(default_factory=dict)

    def copy(self) -> State:
        """A state of its own for one arm."""
        return State(dict(self.names), dict(self.imports), dict(self.classes), dict(self.steps))

    def bind(self, name: str, thing: Thing) -> None:
        """Bind ``name``; what was known of its attributes is forgotten."""
        self.forget(name)
        self.names[name] = thing

    def bind_import(self, name: str, dotted: str) -> None:
        """Bind ``name`` to something imported."""
        self.forget(name)
        self.imports[name] = dotted

    def forget(self, name: str) -> None:
        """``name`` is bound to something unknown."""
        self.imports.pop(name, None)
        self.classes.pop(name, None)
        for known in [n for n in self.names if n == name or n.startswith(f"{name}.")]:
            del self.names[known]

    def take(self, other: State, prefix: str) -> None:
        """Take over the names of ``other`` that begin with ``prefix``."""
        self.names.update({name: thing for name, thing in other.names.items() if name.startswith(prefix)})
        self.steps.update(other.steps)

    def find(self, name: str, node: cst.CSTNode) -> Thing | None:
        """What ``name`` stands for now."""
        thing = self.names.get(name)
        return replace(thing, node=node, steps=self.steps.get(thing.number, thing.steps)) if thing else None

    def record(self, thing: Thing, step: Step) -> None:
        """Note that ``step`` worked on ``thing``."""
        if thing.number:
            self.steps[thing.number] = (*self.steps.get(thing.number, ()), step)


def merge(one: State, other: State) -> State:
    """Either of two states. Of two objects under one name the one with more steps stays: its steps say when."""
    merged = one.copy()
    for number, steps in other.steps.items():
        known = merged.steps.get(number, ())
        merged.steps[number] = (*known, *(step for step in steps if step not in known))
    for name, thing in other.names.items():
        mine = one.names.get(name)
        if mine is None or len(merged.steps.get(thing.number, ())) > len(merged.steps.get(mine.number, ())):
            merged.names[name] = thing
    merged.imports = {**other.imports, **one.imports}
    merged.classes = {**other.classes, **one.classes}
    return merged
