"""Conditions: what a test decides while tracing, and what is known on each side of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import libcst as cst

from graphdoctor.static.domain import torch_tables
from graphdoctor.static.domain.instance_checks import fits, rarely_fits
from graphdoctor.static.domain.value_functions import has_name, is_tensor, join, narrowed_to, options
from graphdoctor.static.domain.values import (
    UNKNOWN,
    Const,
    External,
    Function,
    Instance,
    PythonValue,
    Seq,
    SkippedDefault,
    Tensor,
    Unknown,
    Value,
)
from graphdoctor.static.interp import expressions, loops, predicates
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.syntax.walk import find, walk


class Answer(NamedTuple):
    """The truth of a test: ``verdict`` in every trace, ``sample`` for the shapes of the sample that the file declares.

    Each is None where it is not known. ``by_data`` is True where tensor data decides it.
    """

    verdict: bool | None
    sample: bool | None
    by_data: bool = False


def ask(interpreter: Interpreter, test: cst.BaseExpression, context: str, branch: cst.CSTNode | None) -> Answer:
    """Whether ``test`` is true. Emits ``Truth``."""
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        verdict, sample, by_data = ask(interpreter, test.expression, context, branch)
        return Answer(None if verdict is None else not verdict, None if sample is None else not sample, by_data)
    if type(test) is cst.BooleanOperation:
        is_and = type(test.operator) is cst.And
        left = ask(interpreter, test.left, context, branch)
        if left.verdict is (not is_and):
            return left
        before = interpreter.snapshot()
        optional = left.verdict is None and not (
            loops.is_met(interpreter.frame.loops, test.left)
            or _compares_counter(interpreter, test.left)
            or _asks_for_option(interpreter, test.left, is_and)
        )
        flag = optional and predicates.is_met_by_default(interpreter, test.left, is_and)
        untaken = left.verdict is None and left.sample is (not is_and)
        with interpreter.path(conditional=flag, optional=optional and not flag, untaken=untaken):
            narrow(interpreter, test.left, positive=is_and)
            right = ask(interpreter, test.right, context, branch)
        interpreter.restore(before)
        return Answer(
            _both(left.verdict, right.verdict, is_and),
            _both(left.sample, right.sample, is_and),
            left.by_data or right.by_data,
        )
    value = expressions.evaluate(interpreter, test)
    verdict = expressions.truth(interpreter, test, value, context, branch)
    if verdict is None and type(test) is cst.Comparison:
        verdict = _is_of_type(interpreter, test)
    if verdict is None:
        verdict = _beside_arrays(interpreter, test, branch)
    sample = sample_of(value) if verdict is None else verdict
    if sample is None and _asks_for_a_rare_kind(interpreter, test):
        sample = False
    return Answer(verdict, sample, is_tensor(value))


#: Properties that a tensor has only where the user made it so, or on devices that code is rarely compiled for.
_RARE = frozenset(
    ("is_sparse", "is_sparse_csr", "is_quantized", "is_mkldnn", "is_nested", "is_mps", "is_xpu", "is_xla")
)


def _asks_for_a_rare_kind(interpreter: Interpreter, test: cst.BaseExpression) -> bool:
    """Whether ``test`` asks if a tensor is sparse or the like, or if a value is of a class that it rarely is of."""
    if type(test) is cst.Attribute and test.attr.value in _RARE:
        asked = expressions.evaluate(interpreter, test.value)
        return not any(isinstance(option, Tensor) and option.sparse for option in options(asked))
    if type(test) is not cst.Call or not _is_isinstance(test) or type(test.args[0].value) is not cst.Name:
        return False
    return rarely_fits(*(expressions.evaluate(interpreter, arg.value) for arg in test.args))


def _beside_arrays(interpreter: Interpreter, test: cst.BaseExpression, branch: cst.CSTNode | None) -> bool | None:
    """The truth of ``test``, which asks for the class of a name, where one side of ``branch`` uses the name as an
    array. Compiled code has a tensor there, mostly, so the other side runs.
    """
    if type(test) is not cst.Call or not test.args or not isinstance(branch, (cst.If, cst.IfExp)):
        return None
    asked, whole = test.args[0].value, branch.test
    is_negated = type(whole) is cst.UnaryOperation and whole.expression is test
    if not isinstance(asked, cst.Name) or not (is_negated or whole is test):
        return None
    value = expressions.evaluate(interpreter, asked)
    assumed = isinstance(value, Tensor) and not value.is_known and not value.numpy
    unknown = type(value) is Unknown and interpreter.frame.compiled and not _asks_for_a_rare_kind(interpreter, test)
    if not assumed and not unknown:
        return None
    with interpreter.path(muted=True):
        if expressions.evaluate(interpreter, test.func) not in _CLASS_TESTS:
            return None
    sides = (branch.orelse, branch.body) if is_negated else (branch.body, branch.orelse)
    holds, fails = (side is not None and _takes_arrays(interpreter, side, asked.value) for side in sides)
    return None if holds is fails else fails


#: Functions that test the class of their first argument.
_CLASS_TESTS = (External("torch.is_tensor"), External("builtins.isinstance"))


def _takes_arrays(interpreter: Interpreter, side: cst.CSTNode, name: str) -> bool:
    """Whether ``side`` gives ``name`` to a function of numpy, or makes a tensor of it as of an array."""
    given = (
        call
        for call in find(side, cst.Call)
        if any(type(arg.value) is cst.Name and arg.value.value == name for arg in call.args)
    )
    with interpreter.path(muted=True):
        called = [expressions.evaluate(interpreter, call.func) for call in given]
    return any(isinstance(c, External) and c.qualname.startswith(("numpy.", "torch.from_numpy")) for c in called)


def _compares_counter(interpreter: Interpreter, test: cst.BaseExpression) -> bool:
    """Whether ``test`` compares a counter, as in ``self.seen > self.warmup``, so that it is true in some calls."""
    counted = test.left if type(test) is cst.Comparison else None
    if type(counted) is not cst.Attribute or type(counted.value) is not cst.Name:
        return False
    holders = options(expressions.evaluate(interpreter, counted.value))
    return any(isinstance(holder, Instance) and holder.info.counts(counted.attr.value) for holder in holders)


def _asks_for_option(interpreter: Interpreter, test: cst.BaseExpression, is_and: bool) -> bool:
    """Whether ``test`` asks for an option, ``self.limit is not None and ...``; a gradient is one in optimizers."""
    if type(test) is not cst.Comparison or len(test.comparisons) != 1 or type(test.left) is not cst.Attribute:
        return False
    if test.left.attr.value == "grad" and not interpreter.frame.is_of(*torch_tables.OPTIMIZERS):
        return False
    part = test.comparisons[0]
    return type(part.operator) is (cst.IsNot if is_and else cst.Is) and _is_none(part.comparator)


def _both(left: bool | None, right: bool | None, is_and: bool) -> bool | None:
    """The truth of ``left and right``, or of ``left or right``; None is unknown."""
    if (not is_and) in (left, right):
        return not is_and
    return None if None in (left, right) else is_and


def sample_of(value: Value) -> bool | None:
    """Whether ``value`` is true for the sample that the file declares; None where that is not known."""
    verdicts = {_sampled(option) for option in options(value)}
    return verdicts.pop() if len(verdicts) == 1 else None


def _sampled(value: Value) -> bool | None:
    if isinstance(value, Const):
        return bool(value.value)
    return bool(value.sample) if isinstance(value, PythonValue) and value.sample is not None else None


#: Comparisons with None or of types, and whether each is true of equal ones.
_SAME: dict[type[cst.CSTNode], bool] = {cst.Is: True, cst.Equal: True, cst.IsNot: False, cst.NotEqual: False}


#: The most strings that are followed one by one.
_MOST_TEXTS = 6


def narrow(interpreter: Interpreter, test: cst.BaseExpression, positive: bool) -> None:
    """Narrow names, attributes and items of constant keys to the values for which ``test`` is ``positive``."""
    if type(test) in _NARROWING:
        _NARROWING[type(test)](interpreter, test, positive)


def _narrow_value(interpreter: Interpreter, test: cst.BaseExpression, positive: bool) -> None:
    if positive:
        narrow_to(interpreter, test, lambda v: v != Const(None) and v != Const(False))


def _narrow_not(interpreter: Interpreter, test: cst.UnaryOperation, positive: bool) -> None:
    if type(test.operator) is cst.Not:
        narrow(interpreter, test.expression, not positive)


def _narrow_operands(interpreter: Interpreter, test: cst.BooleanOperation, positive: bool) -> None:
    if (type(test.operator) is cst.And) == positive:
        narrow(interpreter, test.left, positive)
        narrow(interpreter, test.right, positive)
    elif positive:
        _narrow_either(interpreter, test)


def _narrow_compared(interpreter: Interpreter, test: cst.Comparison, positive: bool) -> None:
    if len(test.comparisons) != 1:
        return
    operator, other = type(test.comparisons[0].operator), test.comparisons[0].comparator
    holds = operator in _SAME and _SAME[operator] == positive
    if operator in _SAME and _is_none(other):
        narrow_to(interpreter, test.left, lambda v: _may_be_none(v) if holds else v != Const(None), holds)
    elif operator in (cst.In, cst.NotIn) and (operator is cst.In) == positive:
        _narrow_to_texts(interpreter, test.left, other)
    elif operator in _SAME and (asked := _asked_for_type(test.left)) is not None:
        _narrow_to_class(interpreter, asked, expressions.evaluate(interpreter, other), holds)
    elif operator in _SAME and type(test.left) is cst.Attribute and test.left.attr.value == "__name__":
        name = expressions.evaluate(interpreter, other)
        narrow_to(interpreter, test.left.value, lambda v: has_name(v, name) in (None, holds))


def _narrow_assigned(interpreter: Interpreter, test: cst.NamedExpr, positive: bool) -> None:
    narrow(interpreter, test.target, positive)


def _asked_for_type(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """``x`` of ``type(x)``, a name."""
    if type(node) is not cst.Call or type(node.func) is not cst.Name or node.func.value != "type":
        return None
    return node.args[0].value if len(node.args) == 1 and dotted(node.args[0].value) is not None else None


def _narrow_either(interpreter: Interpreter, test: cst.BooleanOperation) -> None:
    """Narrow ``x`` after ``isinstance(x, int) or isinstance(x, float)``."""
    sides: list[cst.BaseExpression] = [test.left, test.right]
    while isinstance(sides[0], cst.BooleanOperation) and type(sides[0].operator) is cst.Or:
        sides[:1] = [sides[0].left, sides[0].right]
    asked = [s.args for s in sides if type(s) is cst.Call and _is_isinstance(s)]
    if len(asked) == len(sides) and len({dotted(args[0].value) for args in asked}) == 1:
        wanted = tuple(expressions.evaluate(interpreter, args[1].value) for args in asked)
        _narrow_to_class(interpreter, asked[0][0].value, Seq("tuple", wanted), True)


def _is_isinstance(node: cst.Call) -> bool:
    return type(node.func) is cst.Name and node.func.value == "isinstance" and len(node.args) == 2


def _is_of_type(interpreter: Interpreter, test: cst.Comparison) -> bool | None:
    """``type(x) is wanted``, where ``isinstance`` would know; None for what may be of a subclass."""
    part, asked = test.comparisons[0], _asked_for_type(test.left)
    if asked is None or type(part.operator) not in _SAME or len(test.comparisons) != 1:
        return None
    value, wanted = (expressions.evaluate(interpreter, node) for node in (asked, part.comparator))
    if not isinstance(wanted, External) or (wanted.qualname == "builtins.int" and _may_be_bool(value)):
        return None
    verdicts = {fits(option, wanted) for option in options(value)}
    answer = verdicts.pop() if len(verdicts) == 1 else None
    return None if answer is None else answer is _SAME[type(part.operator)]


def _may_be_bool(value: Value) -> bool:
    return any(isinstance(o, Const) and isinstance(o.value, bool) for o in options(value)) or any(
        isinstance(o, PythonValue) and o.kind == "bool" for o in options(value)
    )


def _narrow_call(interpreter: Interpreter, test: cst.Call, positive: bool) -> None:
    """Narrow the arguments of ``isinstance``, of ``torch.is_tensor``, and of a function that returns such a test."""
    if not test.args or any(dotted(arg.value) is None or arg.star or arg.keyword for arg in test.args[:1]):
        return
    with interpreter.path(muted=True):
        predicate = expressions.evaluate(interpreter, test.func)
    first = test.args[0].value
    if predicate == External("builtins.isinstance") and len(test.args) == 2:
        _narrow_to_class(interpreter, first, expressions.evaluate(interpreter, test.args[1].value), positive)
    elif predicate == External("torch.is_tensor"):
        _narrow_to_class(interpreter, first, External("torch.Tensor"), positive)
    elif isinstance(predicate, Function) and len(test.args) == 1:
        predicates.narrow(interpreter, predicate, first, positive)


#: What narrows by a test, by the class of its node: ``isinstance`` is slow for libcst's abstract base classes.
_NARROWING: dict[type[cst.CSTNode], Callable[[Interpreter, Any, bool], None]] = {
    cst.Name: _narrow_value,
    cst.Attribute: _narrow_value,
    cst.Subscript: _narrow_value,
    cst.UnaryOperation: _narrow_not,
    cst.BooleanOperation: _narrow_operands,
    cst.Comparison: _narrow_compared,
    cst.Call: _narrow_call,
    cst.NamedExpr: _narrow_assigned,
}


def _narrow_to_texts(interpreter: Interpreter, node: cst.BaseExpression, among: cst.BaseExpression) -> None:
    """After ``kind in ("lstm", "gru")``, a ``kind`` of which nothing was known is one of these strings."""
    name = dotted(node)
    if name is None or not isinstance(among, (cst.Tuple, cst.List, cst.Set)) or len(among.elements) > _MOST_TEXTS:
        return
    texts = [expressions.evaluate(interpreter, element.value) for element in among.elements]
    if not all(isinstance(text, Const) and isinstance(text.value, str) for text in texts):
        return
    value = expressions.evaluate(interpreter, node)
    any_text = isinstance(value, PythonValue) and value.kind in ("str", "object") and value.sample is None
    if any_text or isinstance(value, Unknown):
        note(interpreter, name, join(*texts))


def _narrow_to_class(interpreter: Interpreter, node: cst.BaseExpression, wanted: Value, positive: bool) -> None:
    """Narrow ``node`` by whether it is an instance of ``wanted``; an assumed tensor may then turn out to be none."""
    name = dotted(node)
    if name is None:
        return
    value = expressions.evaluate(interpreter, node)
    kept = [o for o in options(value) if fits(_known(o), wanted) is not (not positive)]
    tensors = [_known(o) for o in kept if isinstance(o, Tensor)]
    if positive and tensors and len(tensors) < len(kept) and wanted == External("torch.Tensor"):
        # An unknown value is known to be a tensor here.
        note(interpreter, name, join(*tensors))
        return
    if not kept:
        kept = (
            [UNKNOWN] if any(isinstance(o, Tensor) and not o.is_known for o in options(value)) else list(options(value))
        )
    if len(kept) != len(options(value)) or kept == [UNKNOWN] != [value]:
        note(interpreter, name, join(*kept))


def _known(value: Value) -> Value:
    return replace(value, is_known=True) if isinstance(value, Tensor) and not value.is_known else value


def keep_missing(interpreter: Interpreter, test: cst.BaseExpression) -> None:
    """After ``if x is None and not is_compiling(): x = ...``, a trace goes on with the None that eager code
    replaces."""
    if type(test) is not cst.BooleanOperation or type(test.operator) is not cst.And:
        return
    for side, other in ((test.left, test.right), (test.right, test.left)):
        if not _asks_for_compile(interpreter, other):
            continue
        if type(side) is not cst.Comparison or len(side.comparisons) != 1 or type(side.left) is not cst.Name:
            continue
        part = side.comparisons[0]
        value = interpreter.frame.scope.names.get(side.left.value)
        if type(part.operator) is cst.Is and _is_none(part.comparator) and value is not None:
            kept = [
                SkippedDefault(None, origin=id(test)) if option == Const(None) else option for option in options(value)
            ]
            interpreter.frame.scope.names[side.left.value] = join(*kept)


def _asks_for_compile(interpreter: Interpreter, test: cst.BaseExpression) -> bool:
    """True when ``test`` calls ``is_compiling()`` or the like."""
    return any(interpreter.callees.get(id(node)) in torch_tables.COMPILE_TIME for node in walk(test))


def _is_none(node: cst.BaseExpression) -> bool:
    return type(node) is cst.Name and node.value == "None"


def _may_be_none(value: Value) -> bool:
    return value == Const(None) or isinstance(value, (Unknown, PythonValue))


def narrow_to(
    interpreter: Interpreter, node: cst.BaseExpression, test: Callable[[Value], bool], none: bool = False
) -> None:
    """Narrow ``node`` to the values that pass ``test``; with ``none``, what is unknown becomes None."""
    if type(node) is cst.NamedExpr:
        node = node.target
    name = dotted(node)
    if name is None:
        return
    value = expressions.evaluate(interpreter, node)
    narrowed = Const(None) if none and isinstance(value, Unknown) else narrowed_to(value, test)
    if narrowed is not value:
        note(interpreter, name, narrowed)


def note(interpreter: Interpreter, name: str, value: Value) -> None:
    """Note that ``name``, a plain one or one that ``dotted`` gives, has ``value`` on this path."""
    interpreter.frame.scope.names[name] = value
    base, dot, _ = name.partition(".")
    if dot:
        interpreter.frame.scope.narrowed.add(base)


def dotted(node: cst.BaseExpression) -> str | None:
    """``a.b.c`` as text for a chain of names, ``a.["key"]`` for an item of a constant key, else None."""
    if type(node) is cst.Name:
        return node.value
    if type(node) is cst.Attribute:
        base = dotted(node.value)
        return None if base is None else f"{base}.{node.attr.value}"
    if type(node) is cst.Subscript and len(node.slice) == 1:
        key = node.slice[0].slice
        if type(key) is cst.Index and isinstance(key.value, (cst.SimpleString, cst.Integer)):
            base = dotted(node.value)
            return None if base is None else f"{base}.[{key.value.value}]"
    return None
