"""``match`` statements: which case is taken, as far as the subject is known, and what its pattern binds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from graphdoctor.static.domain import instance_checks
from graphdoctor.static.domain.value_functions import may_be_tensor, narrowed_to, options
from graphdoctor.static.domain.values import (
    UNKNOWN,
    Const,
    External,
    Function,
    Instance,
    Mapping,
    OneOf,
    PythonValue,
    Seq,
    Tensor,
    TorchModule,
    Unknown,
    Value,
)
from graphdoctor.static.interp import assignments, expressions
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.syntax.walk import walk

#: Classes whose pattern with one argument, ``int(n)``, binds the subject itself.
_SELF = frozenset(
    f"builtins.{name}"
    for name in ("bool", "bytearray", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple")
)
_SINGLETONS = {"None": None, "True": True, "False": False}


def verdict(interpreter: Interpreter, node: cst.Match, pattern: cst.MatchPattern, subject: Value) -> bool | None:
    """Whether ``pattern`` matches ``subject``; None where that is not known.

    Emits ``Truth`` where a tensor is compared with a value, since its data decides.
    """
    if isinstance(pattern, cst.MatchAs):
        return True if pattern.pattern is None else verdict(interpreter, node, pattern.pattern, subject)
    if isinstance(pattern, cst.MatchOr):
        verdicts: list[bool | None] = []
        for choice in pattern.patterns:
            verdicts.append(verdict(interpreter, node, choice.pattern, subject))
            if verdicts[-1]:
                return True
        return None if None in verdicts else False
    if isinstance(pattern, cst.MatchValue) and may_be_tensor(subject) and not _is_text(interpreter, pattern):
        expressions.truth(interpreter, pattern.value, subject, "match", node)
    found = {_of_one(interpreter, node, pattern, option) for option in options(subject)}
    return found.pop() if len(found) == 1 else None


def _of_one(interpreter: Interpreter, node: cst.Match, pattern: cst.MatchPattern, value: Value) -> bool | None:
    if isinstance(value, (Unknown, OneOf)):
        return None
    if isinstance(pattern, cst.MatchValue):
        if _is_plain_tensor(value) and _is_text(interpreter, pattern):
            return False
        wanted = expressions.evaluate(interpreter, pattern.value)
        return bool(value.value == wanted.value) if isinstance(value, Const) and isinstance(wanted, Const) else None
    if isinstance(pattern, cst.MatchSingleton):
        wanted_name = pattern.value.value
        if isinstance(value, Const):
            return value.value is _SINGLETONS[wanted_name]
        return False if _is_object(value) else None
    if isinstance(pattern, cst.MatchClass):
        return _of_class(interpreter, node, pattern, value)
    if isinstance(pattern, cst.MatchSequence):
        return _of_sequence(interpreter, node, pattern, value)
    if isinstance(pattern, cst.MatchMapping):
        is_other = isinstance(value, Const) or (_is_object(value) and not isinstance(value, (Mapping, Instance)))
        return False if is_other else None
    return None


def _is_text(interpreter: Interpreter, pattern: cst.MatchValue) -> bool:
    """Whether the pattern is a string, which no tensor matches."""
    wanted = expressions.evaluate(interpreter, pattern.value)
    return isinstance(wanted, Const) and isinstance(wanted.value, str)


def _is_object(value: Value) -> bool:
    """Whether ``value`` is surely neither None nor a flag."""
    return isinstance(value, (Seq, Mapping, Instance, TorchModule, Function)) or (
        isinstance(value, Tensor) and value.is_known
    )


def _of_class(interpreter: Interpreter, node: cst.Match, pattern: cst.MatchClass, value: Value) -> bool | None:
    wanted = expressions.evaluate(interpreter, pattern.cls)
    fits = instance_checks.fits(value, wanted)
    if fits is not True or (not pattern.patterns and not pattern.kwds):
        return fits
    if len(pattern.patterns) == 1 and not pattern.kwds and _takes_itself(wanted):
        inner = pattern.patterns[0].value
        return verdict(interpreter, node, inner, value) if isinstance(inner, cst.MatchPattern) else None
    return None


def _takes_itself(wanted: Value) -> bool:
    return isinstance(wanted, External) and wanted.qualname in _SELF


def _of_sequence(interpreter: Interpreter, node: cst.Match, pattern: cst.MatchSequence, value: Value) -> bool | None:
    if not isinstance(value, Seq):
        # Neither a tensor nor a string matches a sequence pattern.
        return False if isinstance(value, (Const, Mapping, TorchModule)) or _is_plain_tensor(value) else None
    if value.kind not in ("list", "tuple", "size") or value.items is None:
        return None
    parts = _parts(pattern.patterns, value)
    if parts is None:
        return False
    verdicts = [verdict(interpreter, node, inner, item) for inner, item in parts if isinstance(inner, cst.MatchPattern)]
    return False if False in verdicts else None if None in verdicts else True


def _is_plain_tensor(value: Value) -> bool:
    return isinstance(value, Tensor) and value.is_known


def _parts(patterns: Sequence[cst.CSTNode], value: Seq) -> list[tuple[cst.CSTNode, Value]] | None:
    """Each pattern with its item; a starred one with the list of the rest. None where the lengths differ."""
    items = value.items or ()
    star = next((i for i, each in enumerate(patterns) if isinstance(each, cst.MatchStar)), None)
    if star is None:
        if len(items) != len(patterns):
            return None
        return [(_inner(each), item) for each, item in zip(patterns, items, strict=True)]
    trailing = len(patterns) - star - 1
    if len(items) < len(patterns) - 1:
        return None
    rest = Seq("list", tuple(items[star : len(items) - trailing]))
    first = [(_inner(each), item) for each, item in zip(patterns[:star], items, strict=False)]
    last = [
        (_inner(each), item) for each, item in zip(patterns[star + 1 :], items[len(items) - trailing :], strict=True)
    ]
    return [*first, (patterns[star], rest), *last]


def _inner(element: cst.CSTNode) -> cst.CSTNode:
    return element.value if isinstance(element, cst.MatchSequenceElement) else element


def bind(interpreter: Interpreter, pattern: cst.CSTNode, subject: Value) -> None:
    """Bind the names of ``pattern``, which matched ``subject``."""
    for name, value in _bound(interpreter, pattern, subject):
        assignments.assign(interpreter, name, value)


def _bound(interpreter: Interpreter, pattern: cst.CSTNode, subject: Value) -> Iterator[tuple[cst.Name, Value]]:
    if isinstance(pattern, (cst.MatchAs, cst.MatchStar)):
        if isinstance(pattern, cst.MatchAs) and pattern.pattern is not None:
            yield from _bound(interpreter, pattern.pattern, subject)
        if pattern.name is not None:
            yield pattern.name, subject
        return
    if isinstance(pattern, cst.MatchSequence) and isinstance(subject, Seq) and subject.items is not None:
        for inner, item in _parts(pattern.patterns, subject) or ():
            yield from _bound(interpreter, inner, item)
        return
    if isinstance(pattern, cst.MatchClass) and len(pattern.patterns) == 1 and not pattern.kwds:
        with interpreter.path(muted=True):
            wanted = expressions.evaluate(interpreter, pattern.cls)
        if _takes_itself(wanted):
            yield from _bound(interpreter, pattern.patterns[0].value, subject)
            return
    for inner in walk(pattern):
        if isinstance(inner, (cst.MatchAs, cst.MatchStar)) and inner.name is not None:
            yield inner.name, UNKNOWN


def without(interpreter: Interpreter, pattern: cst.MatchPattern, subject: Value) -> Value:
    """``subject`` narrowed to what ``pattern`` did not match: not None, not of a class."""
    if isinstance(pattern, cst.MatchSingleton) and pattern.value.value == "None":
        return narrowed_to(subject, lambda value: value != Const(None))
    if isinstance(pattern, cst.MatchClass) and not pattern.patterns and not pattern.kwds:
        with interpreter.path(muted=True):
            wanted = expressions.evaluate(interpreter, pattern.cls)
        return narrowed_to(subject, lambda value: instance_checks.fits(value, wanted) is not True)
    return subject


def within(interpreter: Interpreter, pattern: cst.MatchPattern, subject: Value) -> Value:
    """``subject`` narrowed to what ``pattern`` matched."""
    inner = pattern.pattern if isinstance(pattern, cst.MatchAs) and pattern.pattern is not None else pattern
    if isinstance(inner, cst.MatchSingleton) and inner.value.value == "None":
        return (
            Const(None)
            if isinstance(subject, (Unknown, PythonValue))
            else narrowed_to(subject, lambda v: v == Const(None))
        )
    if isinstance(inner, cst.MatchClass):
        with interpreter.path(muted=True):
            wanted = expressions.evaluate(interpreter, inner.cls)
        return narrowed_to(subject, lambda value: instance_checks.fits(value, wanted) is not False)
    return subject
