"""What a program does with its models outside compiled code, as the usage rules see it: one event a call.

``script.py`` reads the statements of a file in order and makes these events. Each carries what was done before to the
objects it works with, so that a rule asks one question ("was this compiled before?") and does not walk the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import libcst as cst

from graphdoctor.model.findings import Confidence
from graphdoctor.static.domain.events import Event
from graphdoctor.static.domain.fast_frozen import frozen

if TYPE_CHECKING:
    from graphdoctor.syntax.module import SourceModule

#: A condition that a statement stands under: the text of the test, and whether it must hold.
Condition = tuple[str, bool]


class _Missing:
    """The type of ``MISSING``, which says that there is no value, since None is a value."""


MISSING: Final = _Missing()


@frozen
class TrackedObject:
    """The value of an expression, as far as the lines that were followed show it."""

    node: cst.CSTNode
    #: What was done to the object so far, and to what it wraps, in order.
    steps: tuple[Operation, ...] = ()
    #: A string, number, bool or None that the file spells out.
    value: Any = MISSING
    #: The elements of a list or tuple; one for all of a comprehension.
    items: tuple[TrackedObject, ...] = ()
    #: The first of the items stands for more of them.
    alike: bool = False
    #: The entries of a dict display.
    entries: tuple[tuple[TrackedObject, TrackedObject], ...] = ()
    #: The dotted name of something imported.
    name: str = ""
    #: Objects with the same number are the same object; 0 where that is not followed.
    number: int = 0
    #: Of an attribute: the object it is read from. ``optimizer`` of ``optimizer.step``.
    owner: TrackedObject | None = None
    #: The call that made the object, or what it wraps.
    maker: Operation | None = None
    #: What it wraps: the model in ``torch.compile(model)``.
    inner: TrackedObject | None = None
    #: A function, class or partial of the scanned code.
    code: Code | None = None
    #: Of an object: its class, where the scanned code has it.
    made_of: Class | None = None
    #: A literal that the followed call passes: the outcomes of tests of it hold in this call.
    passed: bool = False
    #: One of several objects, by the path taken.
    unsure: bool = False
    #: What it is on other paths, where one of them wraps something; empty where some are not known.
    others: tuple[TrackedObject, ...] = ()

    @property
    def made_by(self) -> str:
        """The dotted name of the call that made the object."""
        return self.maker.name if self.maker is not None else ""

    @property
    def is_unknown_part(self) -> bool:
        """Whether it was read from another object, where nothing of the scanned code stored it."""
        return self.owner is not None and not self.steps and self.code is None and self.value is MISSING

    def parts(self) -> Iterator[TrackedObject]:
        """It, and the elements of the lists in it."""
        yield self
        for item in self.items:
            yield from item.parts()

    def find(self, *names: str) -> Operation | None:
        """The last step with one of ``names``."""
        return next((step for step in reversed(self.steps) if step.name in names), None)


@dataclass(frozen=True, eq=False)
class Arguments:
    """What a call passes."""

    args: tuple[TrackedObject, ...] = ()
    kwargs: Mapping[str, TrackedObject] = field(default_factory=dict)

    @property
    def values(self) -> tuple[TrackedObject, ...]:
        """All of them, without their names."""
        return (*self.args, *self.kwargs.values())


NO_ARGUMENTS: Final = Arguments()


@dataclass(frozen=True, eq=False)
class Operation:
    """One call. ``name`` is the dotted name of the callee, ".generate" for a method, ".__call__" for a call of an
    object."""

    name: str
    node: cst.CSTNode
    path: tuple[Condition, ...] = ()
    receiver: TrackedObject | None = None
    args: tuple[TrackedObject, ...] = ()
    kwargs: Mapping[str, TrackedObject] = field(default_factory=dict)
    #: The loops that it stands in, those around the calls that led to it too, innermost last.
    loops: tuple[cst.For | cst.While, ...] = ()
    #: It stands under a condition inside its innermost loop, so not every round makes it.
    sometimes: bool = False
    #: Its number among all steps of the file.
    order: int = 0
    #: The calls that it made were followed.
    followed: bool = False
    #: No gradients are computed where it stands.
    without_grad: bool = False

    @property
    def passed(self) -> Arguments:
        """Its arguments."""
        return Arguments(self.args, self.kwargs)

    def argument(self, position: int, *names: str) -> TrackedObject | None:
        """An argument by position or by one of ``names``."""
        named = next((self.kwargs[name] for name in names if name in self.kwargs), None)
        return named or (self.args[position] if position < len(self.args) else None)

    def option(self, name: str) -> Any:
        """The literal value of a keyword argument, or MISSING."""
        return self.kwargs[name].value if name in self.kwargs else MISSING


@dataclass(frozen=True, eq=False)
class Function:
    """A function of the scanned code, with the scopes around it, innermost last, and the ``self`` it is bound to."""

    node: cst.FunctionDef | cst.Lambda
    module: SourceModule
    scopes: tuple[int, ...]
    qualname: str
    owner: Class | None = None
    bound: TrackedObject | None = None
    #: Names of its decorators.
    markers: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Class:
    """A class of the scanned code; ``names`` is what its body binds."""

    node: cst.ClassDef
    module: SourceModule
    qualname: str
    bases: tuple[TrackedObject, ...]
    names: Mapping[str, TrackedObject] = field(default_factory=dict)

    def find(self, name: str) -> TrackedObject | None:
        """A class attribute, looked up in this class and its bases."""
        if name in self.names:
            return self.names[name]
        found = (base.code.find(name) for base in self.bases if isinstance(base.code, Class))
        return next((each for each in found if each is not None), None)

    def method(self, name: str) -> Function | None:
        """A method, by its name."""
        found = self.find(name)
        return found.code if found is not None and isinstance(found.code, Function) else None

    @property
    def roots(self) -> tuple[str, ...]:
        """The dotted names of the bases outside the scanned code."""
        return tuple(
            name for b in self.bases for name in (b.code.roots if isinstance(b.code, Class) else (b.name,)) if name
        )


@dataclass(frozen=True, eq=False)
class Partial:
    """``functools.partial(target, *args, **kwargs)``."""

    target: TrackedObject
    args: tuple[TrackedObject, ...] = ()
    kwargs: Mapping[str, TrackedObject] = field(default_factory=dict)

    def arguments(self, passed: Arguments) -> Arguments:
        """What the target gets where the partial is called with ``passed``."""
        return Arguments((*self.args, *passed.args), {**self.kwargs, **passed.kwargs})


Code = Function | Class | Partial


@frozen
class Use(Event):
    """A call outside compiled code."""

    step: Operation
    #: All calls of the file so far, this one last or followed by later ones.
    log: Sequence[Operation]
    #: Which of them this one is.
    position: int
    #: Attributes and elements of objects, by the number of the object.
    objects: Mapping[int, Mapping[str, TrackedObject]] = field(default_factory=dict)
    #: Gives the texts of the files that belong to one program with that of the event.
    related: Callable[[], Sequence[str]] = tuple
    #: As of ``Timed``.
    since: int = 0

    def parts(self, tracked: TrackedObject) -> Mapping[str, TrackedObject]:
        """What an object, or what it wraps, holds."""
        return self.objects.get(unwrapped(tracked).number, {})

    @property
    def before(self) -> Sequence[Operation]:
        """The calls before it, in its scope and in the scopes around it."""
        return self.log[: self.position]


@frozen
class Store(Event):
    """An object is stored in a container or another object: ``layers[0] = x``, ``self.net = x``."""

    target: cst.BaseExpression
    tracked: TrackedObject
    path: tuple[Condition, ...]
    #: What it is stored in.
    container: TrackedObject | None = None
    #: The object that has the container as an attribute.
    holder: TrackedObject | None = None
    #: All calls of the file, and how many of them come before it.
    log: Sequence[Operation] = ()
    position: int = 0
    #: As of ``Use``.
    objects: Mapping[int, Mapping[str, TrackedObject]] = field(default_factory=dict)
    related: Callable[[], Sequence[str]] = tuple


@frozen
class Setting(Event):
    """A setting of torch is assigned: ``torch._dynamo.config.optimize_ddp = "python_reducer"``."""

    name: str
    tracked: TrackedObject


@frozen
class NameUse(Event):
    """A dotted name of torch is imported or read."""

    name: str


@frozen
class Timed(Event):
    """Two readings of a clock are compared; ``inside`` are the calls between them, ``before`` those before."""

    inside: Sequence[Operation]
    before: Sequence[Operation]
    #: A reading stands in a loop, or in a function that a harness calls, so each round may have a time of its own.
    looped: bool
    #: The number of the first step of the run that it stands in: what was done before may have been followed by calls.
    since: int = 0
    #: The GPU itself notes when it gets to a reading.
    waits: bool = False
    #: The call that led here discards the result of the function.
    unused: bool = False


@frozen
class Tried(Event):
    """A ``try`` with handlers; ``inside`` are the calls that its body makes, those of the functions it calls too."""

    body: cst.BaseSuite
    handlers: Sequence[cst.ExceptHandler]
    inside: Sequence[Operation]


@frozen
class Output(Event):
    """A call that gives what ``made`` gave, the call of a compiled object, or a part or view of it.

    The call is that of the compiled object itself, or of a function that was followed.
    """

    made: Operation
    #: Gradients are switched off around it.
    without_grad: bool
    #: All such events of the file so far, this one last or followed by later ones, and how many come before it.
    outputs: Sequence[Output]
    position: int


#: The classes of this file; rules get them outside compiled code too.
USAGE: Final = (Use, Store, Setting, NameUse, Timed, Tried, Output)

#: ``torch.compile`` as a call, and in place.
COMPILE: Final = ("torch.compile", ".compile")
DDP: Final = ("torch.nn.parallel.DistributedDataParallel", "torch.nn.parallel.distributed.DistributedDataParallel")
FSDP: Final = ("torch.distributed.fsdp.FullyShardedDataParallel",)
FULLY_SHARD: Final = (
    "torch.distributed.fsdp.fully_shard",
    "torch.distributed._composable.fsdp.fully_shard",
    "torch.distributed._composable.fsdp.fully_shard.fully_shard",
)


def unwrapped(tracked: TrackedObject) -> TrackedObject:
    """What is wrapped, without its wrappers."""
    return tracked if tracked.inner is None else unwrapped(tracked.inner)


def compiling_setup(step: Operation) -> Operation | None:
    """The making of the Accelerator, where ``step`` is its ``prepare`` and it compiles what it prepares."""
    accelerator = step.receiver.maker if step.receiver is not None else None
    if step.name not in (".prepare", ".prepare_model") or accelerator is None:
        return None
    plugins = [accelerator.kwargs[name] for name in ("dynamo_plugin", "dynamo_backend") if name in accelerator.kwargs]
    if not accelerator.name.endswith("Accelerator") or not any(map(_compiles, plugins)):
        return None
    return accelerator


def _compiles(plugin: TrackedObject) -> bool:
    """Whether ``plugin`` is a backend that is spelled out, or a plugin that was made.

    What is read from an object, ``args.backend``, may be None.
    """
    if plugin.value is MISSING:
        return plugin.maker is not None or (bool(plugin.name) and not plugin.name.startswith("."))
    return plugin.value not in (None, "no", "NO")


def plugin(accelerator: Operation) -> Operation | None:
    """The making of the ``TorchDynamoPlugin`` of an Accelerator, where it was seen."""
    plugin = accelerator.kwargs.get("dynamo_plugin")
    made = plugin.maker if plugin is not None else None
    return made if made is not None and made.name.endswith("TorchDynamoPlugin") else None


def compiled(tracked: TrackedObject) -> Operation | None:
    """The step that compiled ``tracked``, if it was."""
    return next((step for step in reversed(tracked.steps) if step.name in COMPILE), None)


def target(step: Operation) -> TrackedObject | None:
    """What a step compiles: its first argument, or the object of ``model.compile()``."""
    return step.receiver if step.name == ".compile" else step.argument(0, "model")


def backend(step: Operation) -> Any:
    """The backend of a compiling step where it is spelled out; "inductor" where it is not given; else MISSING."""
    if "backend" not in step.kwargs:
        return MISSING if "**" in step.kwargs else "inductor"
    return step.option("backend")


def same_run(
    one: tuple[Condition, ...], other: tuple[Condition, ...], unrelated: Confidence | None = None
) -> Confidence | None:
    """How sure it is that the same run reaches two places; None where one excludes the other.

    ``unrelated`` is the answer where their conditions are independent.
    """
    if any((text, not holds) in other for text, holds in one):
        return None
    if set(one) <= set(other) or set(other) <= set(one):
        return "certain" if set(one) == set(other) else "likely"
    return unrelated


def imported_from(node: cst.ImportFrom) -> str:
    """The module of ``from .helpers import f`` as it is written: ``.helpers``."""
    return "." * len(node.relative) + (dotted(node.module) if node.module is not None else "")


def dotted(node: cst.CSTNode) -> str:
    """The text of a chain of names, ``torch.optim.Adam``; empty for anything else."""
    if isinstance(node, cst.Attribute):
        left = dotted(node.value)
        return f"{left}.{node.attr.value}" if left else ""
    return node.value if isinstance(node, cst.Name) else ""
