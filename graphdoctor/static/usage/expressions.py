"""Expressions of a script: which calls they make, and on which objects."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from typing import Any

import libcst as cst

from graphdoctor.static.domain.events import Event, Site
from graphdoctor.static.usage.events import (
    MISSING,
    NO_ARGUMENTS,
    Arguments,
    Class,
    Condition,
    Function,
    NameUse,
    Operation,
    Timed,
    TrackedObject,
    dotted,
)
from graphdoctor.static.usage.frame import Frame
from graphdoctor.static.usage.state import State
from graphdoctor.syntax.module import SourceModule
from graphdoctor.syntax.walk import children, walk

_CONSTANTS = {"True": True, "False": False, "None": None}

#: A loop over up to this many objects that the source spells out is walked object by object.
ONE_BY_ONE = 4

#: More steps than a file has: the steps of imported modules come before all of its own.
_LONG_AGO = 1_000_000

CLOCKS = frozenset((
    "time.time", "time.perf_counter", "time.monotonic", "time.time_ns", "time.perf_counter_ns", "timeit.default_timer",
))  # fmt: skip


class Expressions:
    """The part of the script walker that knows expressions."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.state = State()
        self.frame: Frame
        self.log: list[Operation] = []
        self._numbers = 0
        self._steps = 0
        #: Of parts that nothing stored, by the number of the object and the name.
        self._part_numbers: dict[tuple[int, str], int] = {}
        #: How many steps there were when the run began.
        self._since = 0
        #: How many comprehensions are walked now, and functions that a harness calls: each round may have a time of its
        #: own, and most harnesses warm up.
        self.measured = 0
        #: The file switches gradients off at its top level.
        self.gradless = False
        #: Whether what a module does when it is imported is looked up now.
        self.importing = False

    def call(self, node: cst.Call) -> TrackedObject:
        """What a call gives."""
        raise NotImplementedError

    def taken_apart(self, node: cst.CSTNode, name: str, container: TrackedObject) -> None:
        """Note that a wrapper is iterated or indexed, by the function that does the same."""
        raise NotImplementedError

    def comprehension(self, node: cst.ListComp | cst.GeneratorExp | cst.DictComp) -> TrackedObject:
        """What a comprehension makes."""
        raise NotImplementedError

    def read_property(self, node: cst.BaseExpression, code: Function) -> TrackedObject:
        """What a property gives."""
        raise NotImplementedError

    def member(self, name: str) -> TrackedObject | None:
        """What a dotted name stands for in the modules of the project."""
        raise NotImplementedError

    def conditions(self, test: cst.BaseExpression, answer: bool) -> tuple[Condition, ...]:
        """What holds where a test has this answer."""
        raise NotImplementedError

    def decided(self, test: cst.BaseExpression) -> bool | None:
        """The answer of a test, where the arguments of the call decide it."""
        raise NotImplementedError

    def global_name(self, name: str) -> TrackedObject | None:
        """What an unbound name stands for in the module of the frame."""
        raise NotImplementedError

    def related(self, source: SourceModule) -> Sequence[str]:
        """The texts of the files that belong to one program with a module."""
        raise NotImplementedError

    def begin_run(self) -> None:
        """Note that a function is entered that no call led into: what was done before may be long ago."""
        self._since = self._steps

    def new_number(self) -> int:
        """A number for a new object or scope."""
        self._numbers += 1
        return self._numbers

    def new_step(
        self,
        name: str,
        node: cst.CSTNode,
        receiver: TrackedObject | None = None,
        passed: Arguments = NO_ARGUMENTS,
        followed: bool = False,
    ) -> Operation:
        """A step at this place."""
        self._steps += 1
        frame = self.frame
        return Operation(
            name,
            node,
            frame.path,
            receiver,
            passed.args,
            passed.kwargs,
            frame.loops,
            sometimes=bool(frame.loops) and len(frame.path) > frame.outside,
            order=self._steps - _LONG_AGO if self.importing else self._steps,
            followed=followed,
            without_grad=frame.without_grad,
        )

    def emit(self, kind: type[Event], node: cst.CSTNode, **fields: object) -> None:
        """Keep an event at ``node``, unless it is in a module that is only imported."""
        frame = self.frame
        site = Site(
            frame.module, frame.name, frame.statement, None, bool(frame.path), compiled=False, guards=frame.guards
        )
        self.events.append(kind(node=node, site=site, **fields))

    def mention(self, node: cst.CSTNode, name: str) -> None:
        """Note that a name of torch is imported or read."""
        if name.startswith(("torch.", "functorch")):
            self.emit(NameUse, node, name=name)

    def visit(self, node: cst.CSTNode) -> None:
        """Evaluate the expressions below ``node``."""
        for child in children(node):
            if isinstance(child, cst.BaseExpression):
                self.evaluate(child)
            else:
                self.visit(child)

    def evaluate(self, node: cst.BaseExpression) -> TrackedObject:
        """The value of ``node``; the calls in it become steps and events."""
        if type(node) in _EVALUATE:
            return _EVALUATE[type(node)](self, node)
        self.visit(node)
        return TrackedObject(node, number=self.new_number())

    def _read(self, node: cst.Attribute) -> TrackedObject:
        return self.attribute(node, self.evaluate(node.value), node.attr.value)

    def _constant(self, node: cst.SimpleString | cst.ConcatenatedString | cst.Integer | cst.Float) -> TrackedObject:
        return TrackedObject(node, value=node.evaluated_value)

    def _sequence(self, node: cst.List | cst.Tuple) -> TrackedObject:
        items = tuple(self.evaluate(element.value) for element in node.elements)
        return TrackedObject(node, items=items, number=self.new_number())

    def _lambda(self, node: cst.Lambda) -> TrackedObject:
        return TrackedObject(node, code=Function(node, self.frame.module, self.frame.scopes, self.frame.name))

    def _arithmetic(self, node: cst.BinaryOperation) -> TrackedObject:
        if isinstance(node.operator, cst.Subtract):
            self._difference(node)
        else:
            self.visit(node)
        return TrackedObject(node, number=self.new_number())

    def _named(self, node: cst.NamedExpr) -> TrackedObject:
        value = self.evaluate(node.value)
        self.assign(node.target, value)
        return value

    def _chosen(self, node: cst.IfExp) -> TrackedObject:
        """``a if test else b``, each side under its condition."""
        self.evaluate(node.test)
        answer = self.decided(node.test)
        if answer is not None:
            return self.evaluate(node.body if answer else node.orelse)
        sides = []
        for side, answer in ((node.body, True), (node.orelse, False)):
            path, self.frame.path = self.frame.path, (*self.frame.path, *self.conditions(node.test, answer))
            sides.append(self.evaluate(side))
            self.frame.path = path
        return self._either(node, *sides)

    def _operands(self, node: cst.BooleanOperation) -> TrackedObject:
        """``a and b`` or ``a or b``; the second operand under the answer of the first that leads to it."""
        left, goes_on = self.evaluate(node.left), isinstance(node.operator, cst.And)
        if self.decided(node.left) is (not goes_on):
            return left
        path, self.frame.path = self.frame.path, (*self.frame.path, *self.conditions(node.left, goes_on))
        right = self.evaluate(node.right)
        self.frame.path = path
        return TrackedObject(node, number=self.new_number()) if goes_on else self._either(node, left, right)

    def _either(self, node: cst.CSTNode, one: TrackedObject, other: TrackedObject) -> TrackedObject:
        if one.value is None or other.value is None:
            return other if one.value is None else one
        known = [each for each in (one, other) if each.value is not MISSING or each.steps or each.code or each.name]
        return self.state.join(*known) if len(known) == 2 else known[0] if known else TrackedObject(node)

    def assign(self, target: cst.BaseExpression, tracked: TrackedObject) -> None:
        """Bind ``target``."""
        raise NotImplementedError

    def _name(self, node: cst.Name) -> TrackedObject:
        if node.value in _CONSTANTS:
            return TrackedObject(node, value=_CONSTANTS[node.value])
        known = self.state.find(self.frame.scopes, node.value)
        if known is None:
            known = self.global_name(node.value)
        elif known.name:
            known = self.member(known.name) or known
        return self._seen(node, known) if known is not None else TrackedObject(node)

    def _seen(self, node: cst.CSTNode, known: TrackedObject) -> TrackedObject:
        """What is known, as it is now; a name of torch is mentioned."""
        self.mention(node, known.name)
        now = self.state.now(self._here(known))
        return now if now.node is node else replace(now, node=node)

    def _here(self, tracked: TrackedObject) -> TrackedObject:
        """``tracked`` without wrappers that are only made where the conditions around the present place do not hold."""
        denied = {(text, not holds) for text, holds in self.frame.path}
        while tracked.inner is not None and denied:
            if not self._is_denied(tracked, denied):
                break
            elsewhere = [each for each in tracked.others if not self._is_denied(each, denied)]
            if not elsewhere:
                tracked = tracked.inner
                continue
            several = tracked.unsure and len(elsewhere) > 1
            tracked = replace(elsewhere[0], others=tuple(elsewhere[1:]), unsure=several)
        return tracked

    def _is_denied(self, wrapper: TrackedObject, denied: Container[Condition]) -> bool:
        """Whether a wrapper is only made where one of the conditions holds."""
        own = self.state.steps.get(wrapper.number, ())
        return bool(own) and any(condition in denied for condition in own[0].path)

    def attribute(self, node: cst.BaseExpression, owner: TrackedObject, name: str) -> TrackedObject:
        """The attribute ``name`` of ``owner``."""
        known = self.found(node, owner, name)
        if known is not None:
            return known
        if owner.name and not owner.name.startswith(".") and not owner.steps:
            full = f"{owner.name}.{name}"
            self.mention(node, full)
            return self.member(full) or TrackedObject(node, name=full)
        number = self._part_number(owner, name) if owner.number else 0
        found = TrackedObject(node, name=f".{name}", owner=owner, number=number)
        if owner.number:
            self.state.put(owner.number, name, found)
        return found

    def found(self, node: cst.BaseExpression, owner: TrackedObject, name: str) -> TrackedObject | None:
        """The attribute where it was stored, or where the class or what is wrapped has it."""
        stored = self.state.objects.get(owner.number, {}).get(name) if owner.number else None
        if stored is not None:
            return self._seen(node, stored)
        holder = owner.made_of or (owner.code if isinstance(owner.code, Class) else None)
        defined = holder.find(name) if holder is not None else None
        if defined is not None and holder is not None:
            code = defined.code
            if isinstance(code, Function) and "classmethod" in code.markers:
                own = replace(code, bound=TrackedObject(node, code=holder))
                return self._seen(node, replace(defined, code=own, owner=owner))
            if owner.made_of is None or not isinstance(code, Function) or "staticmethod" in code.markers:
                return self._seen(node, defined)
            bound = replace(code, bound=owner)
            if {"property", "cached_property"} & code.markers:
                return self.read_property(node, bound)
            return self._seen(node, replace(defined, code=bound, owner=owner))
        if owner.inner is None:
            return None
        inside = self.found(node, owner.inner, name) if name != "_orig_mod" else None
        if name == "_orig_mod" or (name == "module" and not (inside and self.is_compiled(owner))):
            return self._seen(node, owner.inner)
        # A method, and what a wrapper inside holds, stays what it is, but it was taken from the wrapper around.
        taken = inside is not None and (isinstance(inside.code, Function) or name == "module")
        return replace(inside, owner=owner) if inside is not None and taken else inside

    def is_compiled(self, tracked: TrackedObject) -> bool:
        """Whether it is a wrapper of ``torch.compile``, which has the attributes of what is inside."""
        return any(step.name == "torch.compile" for step in self.state.steps.get(tracked.number, ())[:1])

    def _dict(self, node: cst.Dict) -> TrackedObject:
        entries: list[tuple[TrackedObject, TrackedObject]] = []
        for element in node.elements:
            if isinstance(element, cst.DictElement):
                entries.append((self.evaluate(element.key), self.evaluate(element.value)))
            else:
                entries += self.evaluate(element.value).entries
        return TrackedObject(node, entries=tuple(entries), number=self.new_number())

    def _element(self, node: cst.Subscript) -> TrackedObject:
        """``container[key]``."""
        container = self.evaluate(node.value)
        for each in node.slice:
            self.visit(each)
        self.taken_apart(node, "operator.getitem", container)
        key = self.key_of(node)
        stored = self.state.objects.get(container.number, {})
        if key and key in stored:
            return self._seen(node, stored[key])
        for name, value in container.entries:
            if key == f"[{name.value!r}]":
                return self._seen(node, value)
        position = key[1:-1].lstrip("-")
        if position.isdigit() and container.items and not isinstance(container.node, (cst.ListComp, cst.DictComp)):
            items = container.items if not key.startswith("[-") else container.items[::-1]
            index = int(position) - key.startswith("[-")
            return self._seen(node, items[index]) if index < len(items) else TrackedObject(node)
        if not container.number:
            return TrackedObject(node)
        if container.items:
            return self._seen(node, container.items[0])
        number = self._part_number(container, key) if key else self.new_number()
        found = TrackedObject(node, owner=container, number=number)
        if key:
            self.state.put(container.number, key, found)
        return found

    def _part_number(self, owner: TrackedObject, name: str) -> int:
        """The number of a part that nothing stored: the same on every path, so that a flag is known again."""
        key = owner.number, name
        if key not in self._part_numbers:
            self._part_numbers[key] = self.new_number()
        return self._part_numbers[key]

    def taken_out(self, container: TrackedObject, key: str) -> TrackedObject | None:
        """The element that is removed from a container; None where it is not known."""
        if not container.number:
            return None
        entry = (value for name, value in container.entries if key == f"[{name.value!r}]")
        found = self.state.objects.get(container.number, {}).get(key) or next(entry, None)
        self.state.put(container.number, key, TrackedObject(container.node, owner=container, number=self.new_number()))
        return self._seen(container.node, found) if found is not None else None

    def key_of(self, node: cst.Subscript) -> str:
        """The name under which an object keeps the element, where the index is a literal: ``[0]``."""
        index = node.slice[0].slice if len(node.slice) == 1 else None
        if not isinstance(index, cst.Index):
            return ""
        if isinstance(index.value, cst.UnaryOperation):
            return f"[{self.frame.module.code(index.value)}]"
        value = index.value
        known = self.state.find(self.frame.scopes, value.value) if isinstance(value, cst.Name) else None
        literal = known.value if known is not None and known.passed else MISSING
        if isinstance(value, (cst.SimpleString, cst.Integer)):
            literal = value.evaluated_value
        return f"[{literal!r}]" if isinstance(literal, (str, int)) else ""

    def _difference(self, node: cst.BinaryOperation) -> None:
        """``time.time() - start``: what ran in between."""
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        start, end = right.maker, left.maker
        if start is not None and end is not None and {start.name, end.name} <= CLOCKS:
            self.between(node, start, end)

    def between(self, node: cst.CSTNode, start: Operation, end: Operation, *, waits: bool = False) -> None:
        if start.order < end.order:
            inside = [step for step in self.log if start.order < step.order < end.order]
            before = [step for step in self.log if step.order < start.order]
            looped = bool(start.loops or end.loops or self.measured)
            since, unused = self._since, self.frame.unused
            self.emit(Timed, node, inside=inside, before=before, looped=looped, since=since, waits=waits, unused=unused)

    def is_compile(self, decorator: cst.BaseExpression) -> bool:
        """Whether a decorator compiles its function."""
        named = (self._resolve(dotted(node)) for node in walk(decorator) if isinstance(node, (cst.Name, cst.Attribute)))
        return any(name == "torch.compile" for name in named)

    def _resolve(self, chain: str) -> str:
        top, dot, rest = chain.partition(".")
        known = self.state.find(self.frame.scopes, top)
        return f"{known.name}{dot}{rest}" if known is not None and known.name else ""

    def resolved(self, node: cst.BaseExpression) -> str:
        """The dotted name of something imported; empty for anything else."""
        return self._resolve(dotted(node))


_EVALUATE: dict[type[cst.CSTNode], Callable[[Expressions, Any], TrackedObject]] = {
    cst.Call: lambda walker, node: walker.call(node),
    cst.Name: Expressions._name,
    cst.Attribute: Expressions._read,
    cst.Subscript: Expressions._element,
    cst.SimpleString: Expressions._constant,
    cst.ConcatenatedString: Expressions._constant,
    cst.Integer: Expressions._constant,
    cst.Float: Expressions._constant,
    cst.List: Expressions._sequence,
    cst.Tuple: Expressions._sequence,
    cst.Dict: Expressions._dict,
    **dict.fromkeys((cst.ListComp, cst.GeneratorExp, cst.DictComp), lambda walker, node: walker.comprehension(node)),
    cst.Lambda: Expressions._lambda,
    cst.BinaryOperation: Expressions._arithmetic,
    cst.BooleanOperation: Expressions._operands,
    cst.IfExp: Expressions._chosen,
    cst.NamedExpr: Expressions._named,
}
