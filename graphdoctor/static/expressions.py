"""Expressions: the abstract value of each, and the events met on the way."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import libcst as cst

from graphdoctor.source.literals import value_of
from graphdoctor.static import (
    assignments,
    attributes,
    calls,
    conditions,
    definitions,
    imports,
    iterate,
    operators,
    subscripts,
    texts,
)
from graphdoctor.static.events import Convert, Decide, ReadGlobal, Truth
from graphdoctor.static.index import Scope
from graphdoctor.static.machine import Budget, Machine
from graphdoctor.static.values import (
    NONE,
    UNKNOWN,
    Class,
    Const,
    Deferred,
    External,
    Function,
    Imported,
    Instance,
    Mapping,
    Py,
    Returned,
    Seq,
    TorchModule,
    Value,
    holds_tensor,
    is_read,
    is_sure_tensor,
    join,
    may_be_tensor,
    options,
    set_of,
)  # fmt: skip


def evaluate(machine: Machine, node: cst.BaseExpression) -> Value:
    """The abstract value of ``node``."""
    machine.steps += 1
    if machine.steps > machine.MAX_STEPS:
        raise Budget
    value = HANDLERS[type(node)](machine, node)
    if machine.recorder is not None:
        machine.recorder.note(node, value)
    return value


def truth(
    machine: Machine, node: cst.BaseExpression, value: Value, context: str, branch: cst.CSTNode | None = None
) -> bool | None:
    """Ask ``value`` whether it is true. Emits ``Truth`` when it may be tensor data."""

    if may_be_tensor(value):
        machine.emit(Truth, node, value=value, context=context, branch=branch)
    elif context != "assert" and is_read(value):
        # An assert is checked when the graph runs.
        machine.emit(Decide, node, how="if")
    verdicts: set[bool | None] = set()
    for option in options(value):
        if isinstance(option, Const):
            verdicts.add(bool(option.value))
        elif (isinstance(option, Seq) and option.items is not None) or (
            isinstance(option, Mapping) and option.rest is None
        ):
            verdicts.add(bool(option.items))
        elif isinstance(option, Instance) and option.info.lookup("__bool__") is not None:
            result = calls.call_method(machine, node, option, "__bool__", ())
            verdicts.add(bool(result.value) if isinstance(result, Const) else None)
        elif isinstance(option, (Function, Class, TorchModule)):
            verdicts.add(True)
        else:
            verdicts.add(None)
    return verdicts.pop() if len(verdicts) == 1 else None


_WORDS = {"True": Const(True), "False": Const(False), "None": NONE}
#: What a name stands for that nothing binds.
_UNBOUND: dict[str, Value] = {name: External(f"builtins.{name}") for name in dir(builtins)} | {"__name__": Py("str")}


def _name(machine: Machine, node: cst.Name) -> Value:
    name = node.value
    if name in _WORDS:
        return _WORDS[name]
    frame = machine.frame
    found = frame.scope.find(name)
    if name in machine.rebound and frame.compiled and found is frame.scope.module.names.get(name):
        _read_global(machine, node, found)
    if found is not None:
        return imports.resolve(machine, found) if type(found) is Imported else found
    return _UNBOUND.get(name, UNKNOWN)


def _read_global(machine: Machine, node: cst.Name, value: Value | None) -> None:
    here = machine.main is not None and machine.frame.scope.module is machine.main.scope
    number = (isinstance(value, Const) and type(value.value) in (int, float)) or isinstance(value, Py)
    if here and number and node.value not in machine.frame.scope.outer:
        machine.emit(ReadGlobal, node, name=node.value)


def _constant(_machine: Machine, node: Any) -> Value:
    return _const(node.value)


@lru_cache(maxsize=10_000)
def _const(text: str) -> Const:
    return Const(value_of(text))


def _concatenated(machine: Machine, node: cst.ConcatenatedString) -> Value:
    left, right = evaluate(machine, node.left), evaluate(machine, node.right)
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(left.value + right.value) if type(left.value) is type(right.value) else Py("str")
    return Py("str")


def _formatted(machine: Machine, node: cst.FormattedString) -> Value:
    deferred = False
    parts: list[Value] = []
    for part in node.parts:
        if type(part) is cst.FormattedStringExpression:
            for inner in part.format_spec or ():
                if type(inner) is cst.FormattedStringExpression:
                    evaluate(machine, inner.expression)
            value = evaluate(machine, part.expression)
            deferred = deferred or is_sure_tensor(value) or isinstance(value, Deferred)
            if holds_tensor(value) and part.conversion is not None:
                machine.emit(Convert, part.expression, value=value, to="repr", how=f"!{part.conversion}")
            plain = part.conversion is None and not part.format_spec
            parts.append(value if plain else Py("str"))
        elif type(part) is cst.FormattedStringText:
            parts.append(Const(part.value))
    return Deferred("str") if deferred else texts.joined(Const(""), parts)


def _tuple(machine: Machine, node: cst.Tuple | cst.List | cst.Set) -> Value:
    kind = {cst.Tuple: "tuple", cst.List: "list", cst.Set: "set"}[type(node)]
    items: list[Value] = []
    known = True
    for element in node.elements:
        value = evaluate(machine, element.value)
        if type(element) is cst.StarredElement:
            spread = [o for o in options(value) if isinstance(o, Seq)]
            if len(spread) == 1 and spread[0].items is not None:
                items += spread[0].items
            else:
                known = False
                items.append(spread[0].element if spread else UNKNOWN)
        else:
            items.append(value)
    if known and kind == "set":
        return set_of(kind, items)
    return Seq(kind, tuple(items)) if known else Seq(kind, None, join(*items))


def _dict(machine: Machine, node: cst.Dict) -> Value:
    items: dict[Any, Value] = {}
    rest: Value | None = None
    for element in node.elements:
        value = evaluate(machine, element.value)
        if type(element) is cst.DictElement:
            key = evaluate(machine, element.key)
            if isinstance(key, Const):
                items[key.value] = value
            else:
                rest = value if rest is None else join(rest, value)
        else:
            for option in options(value):
                if isinstance(option, Mapping) and option.rest is None:
                    items.update(option.items)
                else:
                    rest = option.rest if isinstance(option, Mapping) and option.rest is not None else UNKNOWN
    return Mapping(tuple(items.items()), rest)


def _boolean(machine: Machine, node: cst.BooleanOperation) -> Value:

    is_and = type(node.operator) is cst.And
    left = evaluate(machine, node.left)
    verdict = truth(machine, node.left, left, "and" if is_and else "or", node)
    if verdict is (not is_and):
        return left
    before = machine.snapshot()
    with machine.path(conditional=verdict is None):
        conditions.narrow(machine, node.left, positive=is_and)
        right = evaluate(machine, node.right)
    machine.restore(before)
    return right if verdict is is_and else join(left, right)


def _ternary(machine: Machine, node: cst.IfExp) -> Value:

    verdict, sample = conditions.ask(machine, node.test, "ternary", node)
    before = machine.snapshot()
    arms: list[Value] = []
    for positive, arm in ((True, node.body), (False, node.orelse)):
        if verdict is not (not positive):
            with machine.path(conditional=verdict is None, untaken=sample is (not positive)):
                conditions.narrow(machine, node.test, positive)
                arms.append(evaluate(machine, arm))
            machine.restore(dict(before))
    return join(*arms)


def _unary(machine: Machine, node: cst.UnaryOperation) -> Value:

    value = evaluate(machine, node.expression)
    if type(node.operator) is cst.Not:
        verdict = truth(machine, node.expression, value, "not", node)
        if verdict is None:
            sample = conditions.sample_of(value)
            return Py("bool", sample=None if sample is None else int(not sample))
        return Const(not verdict)
    return operators.negate(node, value)


def _binary(machine: Machine, node: cst.BinaryOperation) -> Value:

    left, right = evaluate(machine, node.left), evaluate(machine, node.right)
    return operators.binary(machine, node, type(node.operator).__name__, left, right)


def _comparison(machine: Machine, node: cst.Comparison) -> Value:

    left = evaluate(machine, node.left)
    result: Value = UNKNOWN
    for position, part in enumerate(node.comparisons):
        right = evaluate(machine, part.comparator)
        result = operators.compare(machine, node, type(part.operator).__name__, left, right)
        if position + 1 < len(node.comparisons):
            # ``a < b < c`` asks ``a < b`` whether it is true.
            truth(machine, node, result, "and", node)
        left = right
    return result


def _attribute(machine: Machine, node: cst.Attribute) -> Value:

    scope = machine.frame.scope
    name = conditions.dotted(node) if scope.narrowed else None
    if name is not None:
        refined = scope.names.get(name)
        if refined is not None:
            return refined
    return attributes.read_attribute(machine, node, evaluate(machine, node.value), node.attr.value)


def index_values(machine: Machine, node: cst.Subscript) -> tuple[Value, ...]:
    """The values between the brackets; a slice is ``Returned("builtins.slice")``."""
    found: list[Value] = []
    for element in node.slice:
        part = element.slice
        if type(part) is cst.Index:
            value = evaluate(machine, part.value)
            if part.star is None and isinstance(value, Seq) and value.kind == "tuple" and value.items is not None:
                found += value.items
            else:
                found.append(value)
        elif type(part) is cst.Slice:
            for bound in (part.lower, part.upper, part.step):
                if bound is not None:
                    limit = evaluate(machine, bound)
                    if may_be_tensor(limit):
                        machine.emit(Convert, bound, value=limit, to="index", how="slice")
            found.append(Returned("builtins.slice"))
    return tuple(found)


def _subscript(machine: Machine, node: cst.Subscript) -> Value:

    receiver = evaluate(machine, node.value)
    return subscripts.read_item(machine, node, receiver, index_values(machine, node))


def _call(machine: Machine, node: cst.Call) -> Value:

    return calls.call(machine, node)


def _lambda(machine: Machine, node: cst.Lambda) -> Value:
    return definitions.define_lambda(machine, node)


def _named(machine: Machine, node: cst.NamedExpr) -> Value:
    value = evaluate(machine, node.value)
    if type(node.target) is cst.Name:
        machine.frame.scope.assign(node.target.value, value)
    return value


class _Comprehension:
    """What the clauses of a comprehension collect. A class: a function that calls itself is garbage in a circle."""

    def __init__(self, machine: Machine, node: cst.ListComp | cst.SetComp | cst.GeneratorExp | cst.DictComp) -> None:
        self.machine = machine
        self.node = node
        self.collected: list[Value] = []
        self.exact = True

    def clause(self, part: cst.CompFor) -> None:
        """Interpret a ``for``, and the clauses inside it."""
        machine = self.machine
        items, element = iterate.elements(machine, part.iter, evaluate(machine, part.iter))
        if items is None or len(items) > 8:
            self.exact = False
            rounds: tuple[Value, ...] = (element,)
        else:
            rounds = tuple(items)
        for value in rounds:
            assignments.assign(machine, part.target, value)
            verdicts = []
            for test in part.ifs:
                verdicts.append(conditions.ask(machine, test.test, "comprehension", self.node).verdict)
                conditions.narrow(machine, test.test, positive=True)
            if False in verdicts:
                continue
            self.exact = self.exact and None not in verdicts
            if part.inner_for_in is not None:
                self.clause(part.inner_for_in)
            elif isinstance(self.node, cst.DictComp):
                key = evaluate(machine, self.node.key)
                self.collected.append(Seq("tuple", (key, evaluate(machine, self.node.value))))
            else:
                self.collected.append(evaluate(machine, self.node.elt))


def _comprehension(machine: Machine, node: cst.ListComp | cst.SetComp | cst.GeneratorExp | cst.DictComp) -> Value:
    frame = machine.frame
    outer = frame.scope
    frame.scope = Scope("function", {}, outer)
    made = _Comprehension(machine, node)
    try:
        made.clause(node.for_in)
    finally:
        frame.scope = outer
    collected, exact = made.collected, made.exact
    kind = {cst.ListComp: "list", cst.SetComp: "set", cst.GeneratorExp: "generator", cst.DictComp: "dict"}[type(node)]
    if type(node) is cst.DictComp:
        pairs = [c.items for c in collected if isinstance(c, Seq) and c.items]
        if exact and all(isinstance(k, Const) for k, _ in pairs):
            return Mapping(tuple((k.value, v) for k, v in pairs if isinstance(k, Const)))
        return Mapping((), join(*(v for _, v in pairs)) if pairs else UNKNOWN)
    if exact and kind != "set":
        return Seq(kind, tuple(collected))
    return Seq(kind, None, join(*collected) if collected else UNKNOWN)


def _yield(machine: Machine, node: cst.Yield) -> Value:
    if isinstance(node.value, cst.From):
        items, element = iterate.elements(machine, node.value.item, evaluate(machine, node.value.item))
        machine.frame.yields += items if items is not None else [element]
    else:
        machine.frame.yields.append(evaluate(machine, node.value) if node.value is not None else NONE)
    return UNKNOWN


def _await(machine: Machine, node: cst.Await) -> Value:
    return evaluate(machine, node.expression)


class _Handlers(dict[type, Callable[[Machine, Any], Value]]):
    def __missing__(self, kind: type) -> Callable[[Machine, Any], Value]:
        return lambda _machine, _node: UNKNOWN


HANDLERS = _Handlers({
    cst.Name: _name, cst.Integer: _constant, cst.Float: _constant, cst.SimpleString: _constant,
    cst.Imaginary: _constant,
    cst.ConcatenatedString: _concatenated, cst.FormattedString: _formatted, cst.Tuple: _tuple, cst.List: _tuple,
    cst.Set: _tuple, cst.Dict: _dict, cst.BooleanOperation: _boolean, cst.IfExp: _ternary,
    cst.UnaryOperation: _unary, cst.BinaryOperation: _binary, cst.Comparison: _comparison,
    cst.Attribute: _attribute, cst.Subscript: _subscript, cst.Call: _call, cst.Lambda: _lambda,
    cst.NamedExpr: _named, cst.ListComp: _comprehension, cst.SetComp: _comprehension,
    cst.GeneratorExp: _comprehension, cst.DictComp: _comprehension, cst.Yield: _yield, cst.Await: _await,
    cst.Ellipsis: lambda _machine, _node: Const(...),
})  # fmt: skip
