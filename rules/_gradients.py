"""Which backward passes make gradients in the memory of CUDA graphs, and of which models. Not a rule."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import libcst as cst

from graphdoctor.static.usage.events import (
    DDP,
    FSDP,
    FULLY_SHARD,
    Function,
    Operation,
    TrackedObject,
    compiled,
    dotted,
    same_run,
    unwrapped,
)
from graphdoctor.syntax.module import SourceModule
from graphdoctor.syntax.walk import children, walk

from ._graph_calls import calls_graphs

#: Methods whose result has nothing to do with the gradients of what they work on.
_CUTS = frozenset(("detach", "item", "argmax", "tolist", "numpy"))
_HANDS_ON = frozenset(("append", "extend", "update"))
#: The method calls that give parameters of a model.
_PARAMETERS = frozenset((".parameters", ".named_parameters", ".get_parameters", ".trainable_parameters"))

#: A function that calls something of this name trains its parameters.
_CALLS_MODEL = re.compile(
    r"(model|net|encoder|decoder|policy|actor|critic|agent|student|module)\w*(\.\w+)*\(", re.IGNORECASE
)
_LOSS = re.compile(r"loss|criterion", re.IGNORECASE)

_Body = cst.FunctionDef | cst.Module
_Seeds = frozenset[cst.CSTNode]
_NONE: _Seeds = frozenset()


@dataclass(frozen=True, eq=False)
class Backward:
    """A call of `backward()` on what a call of a compiled model gave: ``calls`` are those of one model."""

    step: Operation
    calls: tuple[Operation, ...]

    @property
    def model(self) -> TrackedObject | None:
        """The compiled model."""
        return self.calls[0].receiver


class Gradients:
    """The backward passes of one file. ``log`` are all its steps."""

    def __init__(self, source: SourceModule, log: Sequence[Operation]) -> None:
        self._source, self._log = source, log

    @cached_property
    def graph_calls(self) -> Sequence[Operation]:
        """The calls with gradients of models that are compiled with CUDA graphs, and whose gradients stay there."""
        found = (step for step in self._log if step.name == ".__call__" and not step.without_grad)
        calls = (step for step in found if calls_graphs(step, self._source.text) and not _copies_gradients(step))
        return [step for step in calls if self._has_parameters(step)]

    def _has_parameters(self, call: Operation) -> bool:
        """Whether what is called has parameters that are trained: neither a loss nor a frozen model."""
        receiver = call.receiver
        inner = unwrapped(receiver) if receiver is not None else None
        frozen = inner.find(".requires_grad_") if inner is not None else None
        given = frozen.argument(0, "requires_grad") if frozen is not None else None
        if inner is None or (given is not None and given.value is False):
            return False
        if isinstance(inner.code, Function):
            own = inner.code.module is self._source
            return own and _CALLS_MODEL.search(self._source.code(inner.code.node)) is not None
        called = call.node.func if isinstance(call.node, cst.Call) else call.node
        return _LOSS.search(f"{inner.made_by} {dotted(inner.node)} {dotted(called)}") is None

    def backwards(self) -> Iterator[Backward]:
        """The backward passes, each once per model that is called once for it.

        What several calls of a model make in one backward pass is added outside the graphs.
        """
        seen: set[cst.CSTNode] = set()
        for position, step in enumerate(self._log):
            if step.followed or not step.name.endswith(".backward") or not self.graph_calls:
                continue
            if step.node in seen or step.node not in self._owners:
                continue
            calls = self._following(position)
            seen |= {step.node} if calls else set()
            for group in _by_model(calls):
                several = any(same_run(a.path, b.path) is not None for a in group for b in group if a is not b)
                deeper = any(set(call.loops) - set(step.loops) for call in group)
                if not several and not deeper:
                    yield Backward(step, tuple(group))

    def warmed_up(self, backward: Backward) -> bool:
        """Whether the model ran with a backward pass before it was compiled, which made its gradients."""
        model, first = backward.model, min(call.order for call in backward.calls)
        number = unwrapped(model).number if model is not None else 0
        before = [step for step in self._log if step.order < first]
        eager = [s.order for s in before if s.receiver and unwrapped(s.receiver).number == number and _is_eager(s)]
        return bool(eager) and any(s.name == ".backward" and s.order > eager[0] for s in before)

    # From which calls a value comes.

    @cached_property
    def _owners(self) -> dict[cst.CSTNode, _Body]:
        """The function that each node stands in, or the module."""
        found: dict[cst.CSTNode, _Body] = {}
        stack: list[tuple[cst.CSTNode, _Body]] = [(self._source.tree, self._source.tree)]
        while stack:
            node, owner = stack.pop()
            found[node] = owner
            inner = node if isinstance(node, cst.FunctionDef) else owner
            stack += [(child, inner) for child in children(node)]
        return found

    def _following(self, position: int) -> list[Operation]:
        """The graph calls that the value of a backward pass comes from, where it, or a caller, shows that."""
        step: Operation | None = self._log[position]
        values: list[cst.CSTNode] = []
        while step is not None:
            owner = self._owners.get(step.node)
            if owner is None or not isinstance(step.node, cst.Call):
                return []
            seeds = self._seeds(owner, step)
            values = [arg.value for arg in step.node.args]
            if not step.followed and isinstance(step.node.func, cst.Attribute):
                values.append(step.node.func.value)
            found = _Flow(seeds.keys()).reaching(owner, step.node, values)
            if found:
                return [call for seed in found for call in seeds[seed]]
            step = self._caller(owner, step)
        return []

    def _seeds(self, owner: _Body, end: Operation) -> dict[cst.CSTNode, list[Operation]]:
        """The calls in a function that are graph calls, or lead to such, before ``end``."""
        seeds: dict[cst.CSTNode, list[Operation]] = {}
        last: Operation | None = None
        calls = set(self.graph_calls)
        for step in self._log:
            if step.order >= end.order:
                break
            if self._owners.get(step.node) is owner:
                last = step
            if step in calls and last is not None and (step is last or last.followed):
                known = seeds.setdefault(last.node, [])
                if all(call.node is not step.node for call in known):
                    known.append(step)
        return seeds

    def _caller(self, owner: _Body, step: Operation) -> Operation | None:
        """The call that led into a function, the last before ``step``."""
        if not isinstance(owner, cst.FunctionDef):
            return None
        name = owner.name.value
        found = (s for s in reversed(self._log) if s.order < step.order and s.followed)
        return next(
            (s for s in found if isinstance(s.node, cst.Call) and dotted(s.node.func).rpartition(".")[2] == name), None
        )


@dataclass
class _Flow:
    """Which of ``seeds`` the names of a function come from."""

    seeds: Iterable[cst.CSTNode]
    names: dict[str, _Seeds] = field(default_factory=dict)

    def reaching(self, owner: _Body, end: cst.CSTNode, values: Iterable[cst.CSTNode]) -> _Seeds:
        """The seeds that ``values``, which stand at ``end``, come from."""
        self.seeds = frozenset(self.seeds)
        if not self.seeds:
            return _NONE
        for node in walk(owner.body if isinstance(owner, cst.FunctionDef) else owner, stop=(cst.FunctionDef,)):
            if node is end:
                break
            self._statement(node)
        return _NONE.union(*(self.value(each) for each in values))

    def _statement(self, node: cst.CSTNode) -> None:
        if isinstance(node, cst.Assign):
            for target in node.targets:
                self._bind(target.target, self.value(node.value))
        elif isinstance(node, (cst.AnnAssign, cst.NamedExpr)) and node.value is not None:
            self._bind(node.target, self.value(node.value))
        elif isinstance(node, cst.AugAssign):
            self._bind(node.target, self.value(node.value) | self.value(node.target))
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _HANDS_ON:
            given = _NONE.union(*(self.value(arg.value) for arg in node.args))
            if given:
                self._bind(node.func.value, given | self.value(node.func.value))

    def _bind(self, target: cst.BaseExpression, seeds: _Seeds) -> None:
        if isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                self._bind(element.value, seeds)
        elif isinstance(target, cst.Subscript):
            self._bind(target.value, seeds | self.value(target.value))
        elif dotted(target):
            self.names[dotted(target)] = seeds

    def value(self, node: cst.CSTNode) -> _Seeds:
        """The seeds that an expression comes from."""
        if isinstance(node, (cst.Lambda, cst.FunctionDef)):
            return _NONE
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _CUTS:
            return _NONE
        name = dotted(node)
        if name in self.names:
            return self.names[name]
        own = frozenset((node,)) if node in frozenset(self.seeds) else _NONE
        return own.union(*(self.value(child) for child in children(node)))


def _is_eager(step: Operation) -> bool:
    """Whether it calls a model that is not compiled."""
    receiver = step.receiver
    return step.name == ".__call__" and receiver is not None and compiled(receiver) is None


def _copies_gradients(call: Operation) -> bool:
    """Whether what wraps a model keeps its gradients in memory of its own, whatever the conditions of the program."""
    steps = call.receiver.steps if call.receiver is not None else ()
    return any(_has_buckets(step) for step in steps if set(step.path) <= set(call.path))


def _has_buckets(step: Operation) -> bool:
    views = step.kwargs.get("gradient_as_bucket_view") if step.name in DDP else None
    return step.name in (*FSDP, *FULLY_SHARD) or (views is not None and views.value is not False)


def is_parallel(call: Operation) -> bool:
    """Whether the model is wrapped for data-parallel training, on some path."""
    return call.receiver is not None and call.receiver.find(*DDP, *FSDP, *FULLY_SHARD) is not None


def _by_model(calls: Iterable[Operation]) -> Iterable[list[Operation]]:
    groups: dict[int, list[Operation]] = {}
    for call in calls:
        number = unwrapped(call.receiver).number if call.receiver is not None else 0
        groups.setdefault(number, []).append(call)
    return groups.values()


def trains(step: Operation, model: TrackedObject | None) -> bool | None:
    """Whether a `zero_grad()` is of the gradients of a model; None where that does not show."""
    receiver = step.receiver
    if receiver is None or model is None or isinstance(unwrapped(model).code, Function):
        return None
    own = set(_owners_of(unwrapped(model)))
    if unwrapped(receiver).number in own and unwrapped(receiver).number:
        return True
    numbers = set(_models(receiver))
    return bool(numbers & own) if numbers else None


def _owners_of(tracked: TrackedObject) -> Iterator[int]:
    """The numbers of an object, and of those that it is a part of."""
    each: TrackedObject | None = tracked
    while each is not None:
        if each.number:
            yield each.number
        each = each.owner


def _models(tracked: TrackedObject, depth: int = 6) -> Iterator[int]:
    """The numbers of the models whose parameters an object was made of."""
    made = tracked.maker
    if depth == 0:
        return
    if made is not None and made.name in _PARAMETERS:
        if made.receiver is not None and unwrapped(made.receiver).number:
            yield unwrapped(made.receiver).number
        return
    inner = (*made.args, *made.kwargs.values()) if made is not None else ()
    held = (*tracked.items, *(value for _, value in tracked.entries))
    for each in (*inner, *held):
        yield from _models(each, depth - 1)
