"""Expressions: the abstract value of each, and the events met on the way."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import libcst as cst

from graphdoctor.breaks.run_facts import span_of
from graphdoctor.static.domain.events import Convert, Decide, ReadGlobal, Truth
from graphdoctor.static.domain.torch_tables import CONVENTIONAL_NAMES
from graphdoctor.static.domain.value_functions import (
    holds_tensor,
    is_number,
    is_read,
    is_sure_tensor,
    join,
    join_arms,
    may_be_drawn,
    may_be_tensor,
    narrowed_to,
    options,
    set_of,
    widen_numbers,
)
from graphdoctor.static.domain.values import (
    NONE,
    UNKNOWN,
    Class,
    Const,
    External,
    ExternalObject,
    Function,
    Imported,
    Instance,
    LazyText,
    Mapping,
    Method,
    PythonValue,
    Seq,
    Tensor,
    TorchModule,
    Unknown,
    Value,
)
from graphdoctor.static.interp import (
    attributes,
    calls,
    conditions,
    definitions,
    imports,
    iteration,
    loops,
    predicates,
    subscripts,
)
from graphdoctor.static.interp.interpreter import Budget, Interpreter
from graphdoctor.static.interp.operators import arithmetic, comparisons
from graphdoctor.static.library_models import strings, unknown_numbers
from graphdoctor.syntax.literals import value_of


def evaluate(interpreter: Interpreter, node: cst.BaseExpression) -> Value:
    """The abstract value of ``node``. Raises Budget when the interpreter has used up its steps."""
    interpreter.steps += 1
    if interpreter.steps > interpreter.step_limit:
        raise Budget
    value = HANDLERS[type(node)](interpreter, node)
    if interpreter.run_facts:
        value = _as_seen(interpreter, node, value)
    recorder = interpreter.recorder
    if recorder is not None and (recorder.module is None or recorder.module is interpreter.frame.module):
        recorder.note(node, value)
    return value


def _is_open(value: Value) -> bool:
    """Whether ``value`` may still be a tensor: it is unknown, or an attribute of something external."""
    if isinstance(value, Method):
        return isinstance(value.receiver, ExternalObject)
    return isinstance(value, (Unknown, ExternalObject))


def _as_seen(interpreter: Interpreter, node: cst.BaseExpression, value: Value) -> Value:
    """``value``; where it is unknown, the value that a run has shown."""
    source = interpreter.frame.module.source
    facts = interpreter.run_facts.get(source.file)
    is_vague = isinstance(value, Tensor) and value.dtype is None
    if facts is None or not source.has_place(node) or not (is_vague or _is_open(value)):
        return value
    place = span_of(source.location(node))
    if place in facts.masks:
        return replace(value, dtype="bool") if isinstance(value, Tensor) else Tensor("bool")
    return Tensor() if not is_vague and place in facts.tensors else value


def is_shown(interpreter: Interpreter, node: cst.BaseExpression) -> bool:
    """Whether a run has shown that ``node`` is a tensor, or compares tensors."""
    source = interpreter.frame.module.source
    facts = interpreter.run_facts.get(source.file)
    return facts is not None and source.has_place(node) and span_of(source.location(node)) in facts.tensors


def truth(
    interpreter: Interpreter, node: cst.BaseExpression, value: Value, context: str, branch: cst.CSTNode | None = None
) -> bool | None:
    """Whether ``value`` is true. Emits ``Truth`` when it may be tensor data."""
    if may_be_tensor(value):
        interpreter.emit(Truth, node, value=value, context=context, branch=branch)
    elif context != "assert" and is_read(value):
        # An assert is checked when the graph runs.
        interpreter.emit(Decide, node, how="if")
    elif context != "assert" and may_be_drawn(value):
        unknown_numbers.decide(interpreter, node, value)
    verdicts: set[bool | None] = set()
    for option in options(value):
        if isinstance(option, Const):
            verdicts.add(bool(option.value))
        elif (isinstance(option, Seq) and option.items is not None) or (
            isinstance(option, Mapping) and option.rest is None
        ):
            verdicts.add(bool(option.items))
        elif isinstance(option, Instance) and option.info.lookup("__bool__") is not None:
            result = calls.call_method(interpreter, node, option, "__bool__", ())
            verdicts.add(bool(result.value) if isinstance(result, Const) else None)
        elif isinstance(option, (Function, Class, TorchModule)):
            verdicts.add(True)
        else:
            verdicts.add(None)
    return verdicts.pop() if len(verdicts) == 1 else None


_WORDS = {"True": Const(True), "False": Const(False), "None": NONE}
#: Values of names that nothing binds.
_UNBOUND: dict[str, Value] = {name: External(f"builtins.{name}") for name in dir(builtins)} | {
    "__name__": PythonValue("str")
}
#: The same behind ``from fastai.imports import *``, where that module is not followed.
_CONVENTIONAL: dict[str, Value] = {name: External(qualname) for name, qualname in CONVENTIONAL_NAMES.items()}


def _name(interpreter: Interpreter, node: cst.Name) -> Value:
    name = node.value
    if name in _WORDS:
        return _WORDS[name]
    frame = interpreter.frame
    # Most names are local.
    found = frame.scope.names.get(name) or frame.scope.find(name)
    if name in interpreter.rebound_names and frame.compiled and frame.scope.holder(name) is frame.scope.module:
        _read_global(interpreter, node, found or UNKNOWN)
        if found is not None and is_number(found):
            # Later calls find another number than the one that the file begins with.
            found = widen_numbers(found)
    if found is not None:
        return imports.resolve(interpreter, found) if type(found) is Imported else found
    unbound = _UNBOUND.get(name)
    if unbound is None and frame.module.imports_unknown_names:
        return _CONVENTIONAL.get(name, UNKNOWN)
    return unbound or UNKNOWN


def _read_global(interpreter: Interpreter, node: cst.Name, value: Value) -> None:
    here = interpreter.main is not None and interpreter.frame.scope.module is interpreter.main.scope
    if here and is_number(value) and node.value not in interpreter.frame.scope.outer:
        interpreter.emit(ReadGlobal, node, name=node.value)


def _constant(_interpreter: Interpreter, node: Any) -> Value:
    return _const(node.value)


@lru_cache(maxsize=10_000)
def _const(text: str) -> Const:
    return Const(value_of(text))


def _concatenated(interpreter: Interpreter, node: cst.ConcatenatedString) -> Value:
    left, right = evaluate(interpreter, node.left), evaluate(interpreter, node.right)
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(left.value + right.value) if type(left.value) is type(right.value) else PythonValue("str")
    return PythonValue("str")


def _formatted(interpreter: Interpreter, node: cst.FormattedString) -> Value:
    deferred = False
    parts: list[Value] = []
    for part in node.parts:
        if type(part) is cst.FormattedStringExpression:
            for inner in part.format_spec or ():
                if type(inner) is cst.FormattedStringExpression:
                    evaluate(interpreter, inner.expression)
            value = evaluate(interpreter, part.expression)
            deferred = deferred or is_sure_tensor(value) or isinstance(value, LazyText)
            if holds_tensor(value) and part.conversion is not None:
                interpreter.emit(Convert, part.expression, value=value, to="repr", how=f"!{part.conversion}")
            plain = part.conversion is None and not part.format_spec
            parts.append(value if plain else PythonValue("str"))
        elif type(part) is cst.FormattedStringText:
            parts.append(Const(part.value))
    return LazyText("str") if deferred else strings.joined(Const(""), parts)


def display(interpreter: Interpreter, node: cst.Tuple | cst.List | cst.Set, count: int | None = None) -> Value:
    """The value of a tuple, list or set display. ``count``: how many items it has, where one of them has a star."""
    kind = {cst.Tuple: "tuple", cst.List: "list", cst.Set: "set"}[type(node)]
    items: list[Value] = []
    known = True
    for element in node.elements:
        value = evaluate(interpreter, element.value)
        if type(element) is cst.StarredElement:
            spread = [o for o in options(value) if isinstance(o, Seq)]
            if len(spread) == 1 and spread[0].items is not None:
                items += spread[0].items
            elif count is not None:
                items += [spread[0].element if spread else UNKNOWN] * (count - len(node.elements) + 1)
            else:
                known = False
                items.append(spread[0].element if spread else UNKNOWN)
        else:
            items.append(value)
    if known and kind == "set":
        return set_of(kind, items)
    return Seq(kind, tuple(items)) if known else Seq(kind, None, join(*items))


def _dict(interpreter: Interpreter, node: cst.Dict) -> Value:
    items: dict[Any, Value] = {}
    rest: Value | None = None
    for element in node.elements:
        value = evaluate(interpreter, element.value)
        if type(element) is cst.DictElement:
            key = evaluate(interpreter, element.key)
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


def _boolean(interpreter: Interpreter, node: cst.BooleanOperation) -> Value:

    is_and = type(node.operator) is cst.And
    left = evaluate(interpreter, node.left)
    if not is_and and type(node.right) is cst.Tuple and any(type(option) is Seq for option in options(left)):
        # ``state or (None, None)`` tests whether there is a tuple, not the data of a tensor.
        left = narrowed_to(left, lambda option: not isinstance(option, Tensor))
    verdict = truth(interpreter, node.left, left, "and" if is_and else "or", node)
    if verdict is (not is_and):
        return left
    before = interpreter.snapshot()
    untaken = verdict is None and conditions.sample_of(left) is (not is_and)
    with interpreter.path(optional=verdict is None, untaken=untaken):
        conditions.narrow(interpreter, node.left, positive=is_and)
        right = evaluate(interpreter, node.right)
    interpreter.restore(before)
    decisive = _decisive(left, is_and)
    arms = (join(*decisive), right) if decisive and verdict is not is_and else (right,)
    return join_arms(arms, predicates.chosen_by_mode(node.left))


def _decisive(left: Value, is_and: bool) -> list[Value]:
    """The left operand of ``and`` or ``or`` where it decides: narrowed to false values, or to true ones."""
    found: list[Value] = []
    for o in options(left):
        if type(o) is PythonValue and o.kind == "bool" and not o.data_dependent and o.sample is None:
            found.append(Const(not is_and))
        elif type(o) is not Const or bool(o.value) is not is_and:
            found.append(o)
    return found


def _ternary(interpreter: Interpreter, node: cst.IfExp) -> Value:

    verdict, sample, by_data = conditions.ask(interpreter, node.test, "ternary", node)
    before = interpreter.snapshot()
    arms: list[Value] = []
    for positive, arm in ((True, node.body), (False, node.orelse)):
        if verdict is not (not positive):
            with interpreter.path(conditional=verdict is None, untaken=sample is (not positive)):
                conditions.narrow(interpreter, node.test, positive)
                arms.append(evaluate(interpreter, arm))
            interpreter.restore(dict(before))
    return join_arms(arms, "data" if by_data else predicates.chosen_by_mode(node.test))


def _unary(interpreter: Interpreter, node: cst.UnaryOperation) -> Value:

    value = unknown_numbers.need(interpreter, node, evaluate(interpreter, node.expression))
    if type(node.operator) is cst.Not:
        verdict = truth(interpreter, node.expression, value, "not", node)
        if verdict is None:
            sample = conditions.sample_of(value)
            return PythonValue("bool", sample=None if sample is None else int(not sample))
        return Const(not verdict)
    return arithmetic.negate(node, value)


def _binary(interpreter: Interpreter, node: cst.BinaryOperation) -> Value:

    left, right = evaluate(interpreter, node.left), evaluate(interpreter, node.right)
    return arithmetic.binary(interpreter, node, type(node.operator).__name__, left, right)


def _comparison(interpreter: Interpreter, node: cst.Comparison) -> Value:

    left = evaluate(interpreter, node.left)
    result: Value = UNKNOWN
    for position, part in enumerate(node.comparisons):
        right = evaluate(interpreter, part.comparator)
        result = comparisons.compare(interpreter, node, type(part.operator).__name__, left, right)
        if position + 1 < len(node.comparisons):
            # ``a < b < c`` tests the truth of ``a < b``.
            truth(interpreter, node, result, "and", node)
        left = unknown_numbers.after_test(right, result)
    return result


def _narrowed(interpreter: Interpreter, node: cst.Attribute | cst.Subscript) -> Value | None:
    """The value to which a condition narrowed ``node`` here, if one did."""
    scope = interpreter.frame.scope
    return scope.names.get(conditions.dotted(node) or "") if scope.narrowed else None


def _attribute(interpreter: Interpreter, node: cst.Attribute) -> Value:
    narrowed = _narrowed(interpreter, node)
    if narrowed is not None:
        return narrowed
    return attributes.read_attribute(interpreter, node, evaluate(interpreter, node.value), node.attr.value)


def index_values(interpreter: Interpreter, node: cst.Subscript) -> tuple[Value, ...]:
    """The values between the brackets; a slice is ``ExternalObject("builtins.slice")``."""
    found: list[Value] = []
    for element in node.slice:
        part = element.slice
        if type(part) is cst.Index:
            value = evaluate(interpreter, part.value)
            if part.star is None and isinstance(value, Seq) and value.kind == "tuple" and value.items is not None:
                found += value.items
            else:
                found.append(value)
        elif type(part) is cst.Slice:
            for bound in (part.lower, part.upper, part.step):
                if bound is not None:
                    limit = evaluate(interpreter, bound)
                    if may_be_tensor(limit):
                        interpreter.emit(Convert, bound, value=limit, to="index", how="slice")
                    unknown_numbers.need(interpreter, bound, limit)
            found.append(ExternalObject("builtins.slice"))
    return tuple(found)


def _subscript(interpreter: Interpreter, node: cst.Subscript) -> Value:
    narrowed = _narrowed(interpreter, node)
    if narrowed is not None:
        return narrowed
    receiver = evaluate(interpreter, node.value)
    return subscripts.read_item(interpreter, node, receiver, index_values(interpreter, node))


def _call(interpreter: Interpreter, node: cst.Call) -> Value:

    return calls.call(interpreter, node)


def _lambda(interpreter: Interpreter, node: cst.Lambda) -> Value:
    return definitions.define_lambda(interpreter, node)


def _named(interpreter: Interpreter, node: cst.NamedExpr) -> Value:
    value = evaluate(interpreter, node.value)
    if type(node.target) is cst.Name:
        interpreter.frame.scope.assign(node.target.value, value)
    return value


def _yield(interpreter: Interpreter, node: cst.Yield) -> Value:
    if isinstance(node.value, cst.From):
        items, element = iteration.elements(interpreter, node.value.item, evaluate(interpreter, node.value.item))
        interpreter.frame.yields += items if items is not None else [element]
    else:
        interpreter.frame.yields.append(evaluate(interpreter, node.value) if node.value is not None else NONE)
    return UNKNOWN


class _Handlers(dict[type, Callable[[Interpreter, Any], Value]]):
    def __missing__(self, kind: type) -> Callable[[Interpreter, Any], Value]:
        return lambda _interpreter, _node: UNKNOWN


HANDLERS = _Handlers({
    cst.Name: _name, cst.Integer: _constant, cst.Float: _constant, cst.SimpleString: _constant,
    cst.Imaginary: _constant, cst.ConcatenatedString: _concatenated, cst.FormattedString: _formatted,
    cst.Tuple: display, cst.List: display, cst.Set: display, cst.Dict: _dict, cst.BooleanOperation: _boolean,
    cst.IfExp: _ternary, cst.UnaryOperation: _unary, cst.BinaryOperation: _binary, cst.Comparison: _comparison,
    cst.Attribute: _attribute, cst.Subscript: _subscript, cst.Call: _call, cst.Lambda: _lambda,
    cst.NamedExpr: _named, cst.ListComp: loops.comprehension, cst.SetComp: loops.comprehension,
    cst.GeneratorExp: loops.comprehension, cst.DictComp: loops.comprehension, cst.Yield: _yield,
    cst.Await: lambda interpreter, node: evaluate(interpreter, node.expression),
    cst.Ellipsis: lambda _interpreter, _node: Const(...),
})  # fmt: skip
