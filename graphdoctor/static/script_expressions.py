"""Expressions of a script: which call is it, and which objects does it work on."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.source.module import SourceModule
from graphdoctor.source.walk import children, walk
from graphdoctor.static.events import Event
from graphdoctor.static.script_state import State
from graphdoctor.static.usage import DDP, FSDP, FULLY_SHARD, MISSING, Step, Thing, Timed, Use, dotted

#: Calls whose result is their first argument, wrapped.
WRAPPERS = frozenset(("torch.compile", *DDP, *FSDP, "torch.nn.DataParallel", "torch.jit.script", "copy.deepcopy"))

#: Calls that quantise their first argument.
QUANTISE = (
    "torchao.quantization.quantize_",
    "torchao.float8.convert_to_float8_training",
    "torch.ao.quantization.quantize_dynamic",
    "torch.quantization.quantize_dynamic",
)

#: Calls that change their first argument and return it, or nothing.
IN_PLACE = frozenset((*FULLY_SHARD, *QUANTISE))

#: Methods that return their own object.
SELF_METHODS = frozenset((
    ".to", ".cuda", ".cpu", ".half", ".float", ".bfloat16", ".double", ".eval", ".train", ".requires_grad_", ".type",
    ".to_empty", ".compile", ".xpu", ".mps", ".apply", ".share_memory", ".zero_grad",
))  # fmt: skip

#: Classes whose objects wrap what their methods get.
LAUNCHERS = ("Fabric", "Accelerator")
_SETUPS = (".setup", ".setup_module", ".prepare", ".prepare_model")

_CONSTANTS = {"True": True, "False": False, "None": None}

CLOCKS = frozenset((
    "time.time", "time.perf_counter", "time.monotonic", "time.time_ns", "time.perf_counter_ns", "timeit.default_timer",
))  # fmt: skip


class Expressions:
    """The part of the script walker that knows expressions."""

    def __init__(self, source: SourceModule) -> None:
        self.source = source
        self.events: list[Event] = []
        self.state = State()
        self.function = "<module>"
        self.statement: cst.CSTNode = source.tree
        self.loops: tuple[cst.For | cst.While, ...] = ()
        self.path: tuple[tuple[str, bool], ...] = ()
        self.log: list[Step] = []
        self._count = 0

    def emit(self, kind: type[Event], node: cst.CSTNode, **fields: object) -> None:
        """Keep an event."""
        raise NotImplementedError

    def mention(self, node: cst.CSTNode, name: str) -> None:
        """Note that a name of torch is used."""
        raise NotImplementedError

    def imported(self, chain: str) -> str:
        """The full name where ``chain`` begins with an import, else nothing."""
        top, dot, rest = chain.partition(".")
        return (
            self.state.imports[top] + dot + rest if top in self.state.imports and chain not in self.state.names else ""
        )

    def is_compile(self, decorator: cst.BaseExpression) -> bool:
        """Whether a decorator compiles its function."""
        return any(self.imported(dotted(node)) == "torch.compile" for node in walk(decorator))

    def decorate(self, function: cst.FunctionDef, decorator: cst.BaseExpression) -> None:
        """A decorator: with ``torch.compile`` the function is an object that was compiled."""
        thing = self.evaluate(decorator)
        if thing.name == "torch.compile":
            self.state.bind(function.name.value, self.made(function, Step("torch.compile", decorator, self.path)))
        elif compile_step := thing.find("torch.compile"):
            self.state.bind(function.name.value, self.made(function, compile_step))

    def visit(self, node: cst.CSTNode) -> None:
        """Evaluate the expressions below ``node``."""
        for child in children(node):
            if isinstance(child, cst.BaseExpression):
                self.evaluate(child)
            else:
                self.visit(child)

    def evaluate(self, node: cst.BaseExpression) -> Thing:
        """What ``node`` is worth; the calls in it become steps and events."""
        if isinstance(node, cst.Call):
            return self.call(node)
        if isinstance(node, (cst.Name, cst.Attribute)):
            return self._name(node)
        if isinstance(node, (cst.SimpleString, cst.ConcatenatedString, cst.Integer, cst.Float)):
            return Thing(node, value=node.evaluated_value)
        if isinstance(node, (cst.List, cst.Tuple)):
            return Thing(node, items=tuple(self.evaluate(element.value) for element in node.elements))
        if isinstance(node, cst.Dict):
            pairs = [e for e in node.elements if isinstance(e, cst.DictElement)]
            return Thing(node, entries=tuple((self.evaluate(e.key), self.evaluate(e.value)) for e in pairs))
        if isinstance(node, (cst.ListComp, cst.GeneratorExp)):
            self.visit(node.for_in)
            return Thing(node, items=(self.evaluate(node.elt),))
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Subtract):
            self._difference(node)
        elif isinstance(node, cst.IfExp):
            self.visit(node.test)
            first, second = self.evaluate(node.body), self.evaluate(node.orelse)
            return first if first.value is not MISSING or first.steps else second
        elif not isinstance(node, cst.Lambda):
            self.visit(node)
        return Thing(node)

    def _name(self, node: cst.Name | cst.Attribute) -> Thing:
        chain = dotted(node)
        if chain in _CONSTANTS:
            return Thing(node, value=_CONSTANTS[chain])
        if not chain:
            self.visit(node)
            return Thing(node)
        known = self.state.find(chain, node)
        if known is not None:
            return known
        name = self.imported(chain)
        if name:
            self.mention(node, name)
            return Thing(node, name=name)
        owner = self.state.find(chain.rpartition(".")[0], node)
        return Thing(node, name=f".{node.attr.value}" if isinstance(node, cst.Attribute) else "", owner=owner)

    def made(self, node: cst.CSTNode, step: Step, before: tuple[Step, ...] = ()) -> Thing:
        """A new object, made by ``step`` out of one that ``before`` worked on."""
        self._count += 1
        self.state.steps[self._count] = (*before, step)
        return Thing(node, (*before, step), number=self._count)

    def call(self, node: cst.Call) -> Thing:
        """A call: an event, a step on its objects, and its result."""
        name, receiver = self._callee(node.func)
        args = tuple(self.evaluate(a.value) for a in node.args if a.keyword is None and not a.star)
        kwargs = {a.keyword.value: self.evaluate(a.value) for a in node.args if a.keyword is not None}
        for starred in (a for a in node.args if a.star):
            kwargs[starred.star] = self.evaluate(starred.value)
        step = Step(name, node, self.path, receiver, args, kwargs, self.loops)
        self.emit(Use, node, step=step, log=self.log, position=len(self.log))
        self.log.append(step)
        return self._result(node, step)

    def _callee(self, func: cst.BaseExpression) -> tuple[str, Thing | None]:
        chain = dotted(func)
        if name := self.imported(chain):
            self.mention(func, name)
            return name, None
        if isinstance(func, cst.Attribute):
            known = self.state.find(chain, func)
            receiver = self.evaluate(func.value)
            if known is not None and known.steps:
                return ".__call__", known
            return f".{func.attr.value}", receiver
        if isinstance(func, cst.Name) and func.value not in self.state.names:
            return func.value, None
        return ".__call__", self.evaluate(func)

    def _result(self, node: cst.Call, step: Step) -> Thing:
        first = step.argument(0, "model", "module")
        if step.name in WRAPPERS and first is not None:
            return self.made(node, step, first.steps)
        if step.name == ".__call__" and step.receiver is not None and first is not None:
            waiting = step.receiver.find("torch.compile")
            if waiting is not None and waiting.argument(0, "model") is None and len(step.receiver.steps) == 1:
                # torch.compile(mode=...)(model)
                return self.made(node, waiting, first.steps)
        if step.name in _SETUPS and step.receiver is not None and step.receiver.made_by.endswith(LAUNCHERS):
            wrapped = tuple(self.made(node, step, arg.steps) for arg in step.args)
            return wrapped[0] if len(wrapped) == 1 else Thing(node, items=wrapped)
        if step.name in IN_PLACE and first is not None:
            self.state.record(first, step)
            return Thing(node, self.state.steps.get(first.number, (*first.steps, step)), number=first.number)
        for thing in (step.receiver, *step.args, *step.kwargs.values()):
            for each in _parts(thing):
                self.state.record(each, step)
        if step.name in SELF_METHODS and step.receiver is not None:
            number = step.receiver.number
            return Thing(node, self.state.steps.get(number, (*step.receiver.steps, step)), number=number)
        return self.made(node, step)

    def _difference(self, node: cst.BinaryOperation) -> None:
        """``time.time() - start``: what ran in between."""
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        if left.made_by not in CLOCKS or right.made_by not in CLOCKS:
            return
        start, end = self.log.index(right.steps[0]), self.log.index(left.steps[0])
        if start < end:
            self.emit(
                Timed,
                node,
                inside=self.log[start + 1 : end],
                before=self.log[:start],
                looped=bool(right.steps[0].loops or left.steps[0].loops),
            )


def _parts(thing: Thing | None) -> Iterator[Thing]:
    if thing is not None:
        yield thing
        for item in thing.items:
            yield from _parts(item)
