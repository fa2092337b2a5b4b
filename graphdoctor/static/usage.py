"""What a program does with its models outside compiled code, as the usage rules see it: one event a call.

``script.py`` reads the statements of a file in order and makes these events. Each carries what was done before to the
objects it works with, so that a rule asks one question ("was this compiled before?") and does not walk the tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import libcst as cst

from graphdoctor.model import Confidence
from graphdoctor.static.events import Event
from graphdoctor.static.frozen import frozen

#: A condition that a statement stands under: the text of the test, and whether it must hold.
Condition = tuple[str, bool]


class _Missing:
    """There is no value; None is one."""


MISSING: Final = _Missing()


@frozen
class Thing:
    """What an expression is worth, as far as the lines of its scope show."""

    node: cst.CSTNode
    #: What was done to the object so far, first the call that made it.
    steps: tuple[Step, ...] = ()
    #: A string, number, bool or None that the file spells out.
    value: Any = MISSING
    #: The elements of a list or tuple; one for all of a comprehension.
    items: tuple[Thing, ...] = ()
    #: The entries of a dict display.
    entries: tuple[tuple[Thing, Thing], ...] = ()
    #: The dotted name of something imported.
    name: str = ""
    #: Objects with the same number are the same object; 0 where that is not followed.
    number: int = 0
    #: Of an attribute: the object it is read from. ``optimizer`` of ``optimizer.step``.
    owner: Thing | None = None

    @property
    def made_by(self) -> str:
        """The dotted name of the call that made the object."""
        return self.steps[0].name if self.steps else ""

    def find(self, *names: str) -> Step | None:
        """The last step with one of ``names``."""
        return next((step for step in reversed(self.steps) if step.name in names), None)


@dataclass(frozen=True, eq=False)
class Step:
    """One call. ``name`` is the dotted name of the callee, ".generate" for a method, ".__call__" for a call of an
    object."""

    name: str
    node: cst.CSTNode
    path: tuple[Condition, ...] = ()
    receiver: Thing | None = None
    args: tuple[Thing, ...] = ()
    kwargs: Mapping[str, Thing] = field(default_factory=dict)
    #: The loops of its function that it stands in, innermost last.
    loops: tuple[cst.For | cst.While, ...] = ()

    def argument(self, position: int, *names: str) -> Thing | None:
        """An argument by position or by one of ``names``."""
        named = next((self.kwargs[name] for name in names if name in self.kwargs), None)
        return named or (self.args[position] if position < len(self.args) else None)

    def option(self, name: str) -> Any:
        """The literal value of a keyword argument, or MISSING."""
        return self.kwargs[name].value if name in self.kwargs else MISSING


@frozen
class Use(Event):
    """A call outside compiled code."""

    step: Step
    #: All calls of the file so far, this one last or followed by later ones.
    log: Sequence[Step]
    #: Which of them this one is.
    position: int

    @property
    def before(self) -> Sequence[Step]:
        """The calls before it, in its scope and in the scopes around it."""
        return self.log[: self.position]


@frozen
class Place(Event):
    """An object is stored in a container or another object: ``layers[0] = x``, ``self.net = x``."""

    target: cst.BaseExpression
    thing: Thing
    path: tuple[Condition, ...]


@frozen
class Setting(Event):
    """A setting of torch is assigned: ``torch._dynamo.config.optimize_ddp = "python_reducer"``."""

    name: str
    thing: Thing


@frozen
class Mention(Event):
    """A dotted name of torch is imported or read."""

    name: str


@frozen
class Timed(Event):
    """Two readings of a clock are subtracted; ``inside`` are the calls between them, ``before`` those before."""

    inside: Sequence[Step]
    before: Sequence[Step]
    #: A reading stands in a loop, so each round may have a time of its own.
    looped: bool


#: The classes of this file; rules get them outside compiled code too.
USAGE: Final = (Use, Place, Setting, Mention, Timed)

#: ``torch.compile`` as a call, and in place.
COMPILE: Final = ("torch.compile", ".compile")
DDP: Final = ("torch.nn.parallel.DistributedDataParallel", "torch.nn.parallel.distributed.DistributedDataParallel")
FSDP: Final = ("torch.distributed.fsdp.FullyShardedDataParallel",)
FULLY_SHARD: Final = (
    "torch.distributed.fsdp.fully_shard",
    "torch.distributed._composable.fsdp.fully_shard",
    "torch.distributed._composable.fsdp.fully_shard.fully_shard",
)


def compiled(thing: Thing) -> Step | None:
    """The step that compiled ``thing``, if it was."""
    return next((step for step in reversed(thing.steps) if step.name in COMPILE), None)


def target(step: Step) -> Thing | None:
    """What a step compiles: its first argument, or the object of ``model.compile()``."""
    return step.receiver if step.name == ".compile" else step.argument(0, "model")


def backend(step: Step) -> Any:
    """The backend of a compiling step where it is spelled out; "inductor" where it is not given; else MISSING."""
    if "backend" not in step.kwargs:
        return MISSING if "**" in step.kwargs else "inductor"
    return step.option("backend")


def together(
    one: tuple[Condition, ...], other: tuple[Condition, ...], unrelated: Confidence | None = None
) -> Confidence | None:
    """How sure it is that two places run in one run: None where one excludes the other.

    ``unrelated`` is the answer where each stands under a condition that says nothing of the other's.
    """
    if any((text, not holds) in other for text, holds in one):
        return None
    if set(one) <= set(other) or set(other) <= set(one):
        return "certain" if set(one) == set(other) else "likely"
    return unrelated


def dotted(node: cst.CSTNode) -> str:
    """The text of a chain of names, ``torch.optim.Adam``; empty for anything else."""
    if isinstance(node, cst.Attribute):
        left = dotted(node.value)
        return f"{left}.{node.attr.value}" if left else ""
    return node.value if isinstance(node, cst.Name) else ""
