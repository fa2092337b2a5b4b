"""Branches that run once: they fill in what their test finds missing, or clear the flag, so later calls pass them by.

``if self.table is None: self.table = build()`` and ``if self.first: self.first = False``: of a module in use it is not
known whether the call that is compiled is its first. A sample that the file declares is a fresh module, and there the
branch runs.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Function, Instance
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.syntax.walk import walk


def runs_once(interpreter: Interpreter, node: cst.If) -> bool:
    """Whether the body of ``node`` changes attributes so that its test is false from then on."""
    if interpreter.fresh or not interpreter.frame.compiled:
        return False
    if any(_fills(interpreter, node.body, receiver, name) for receiver, name in _tested_attributes(node.test)):
        return True
    return any(_clears(interpreter, node.body, receiver, name) for receiver, name in _flags(node.test))


def _flags(test: cst.BaseExpression) -> list[tuple[str, str]]:
    """The attributes, each with its object's name, that must be true for ``test``."""
    if type(test) is cst.BooleanOperation and type(test.operator) is cst.And:
        return _flags(test.left) + _flags(test.right)
    # Users set whether a module trains, and more than once.
    return [flag for flag in _attribute(test) if flag[1] != "training"]


def _clears(interpreter: Interpreter, block: cst.BaseSuite, receiver: str, name: str) -> bool:
    """Whether ``block`` makes ``receiver.name`` False, and nothing in the function makes it true."""
    function = interpreter.frame.function
    cleared = any(map(_is_false, _stores(block, receiver, name)))
    return cleared and function is not None and all(map(_is_false, _stores(function.body, receiver, name)))


def _fills(interpreter: Interpreter, block: cst.BaseSuite, receiver: str, name: str) -> bool:
    """Whether ``block`` gives ``receiver.name`` a value that stays."""
    stored = list(_stores(block, receiver, name))
    for called in _methods(interpreter, block, receiver):
        stored += _stores(called.info.body, receiver, name)
    if all(_counts(value, name) for value in stored):
        return False
    function = interpreter.frame.function
    return function is None or not any(_is_none(value) for value in _stores(function.body, receiver, name))


def _tested_attributes(test: cst.BaseExpression) -> list[tuple[str, str]]:
    """The attributes, each with its object's name, that must lack a value (or have one certain value) for ``test``."""
    # Classes are compared: nodes are abstract base classes, with a slow ``isinstance``, and this runs for each ``if``.
    if type(test) is cst.BooleanOperation and type(test.operator) is cst.And:
        return _tested_attributes(test.left) + _tested_attributes(test.right)
    if type(test) is cst.Comparison and len(test.comparisons) == 1:
        part = test.comparisons[0]
        missing = type(part.operator) is cst.Is and _is_none(part.comparator)
        chosen = type(part.operator) is cst.Equal and type(part.comparator) is cst.SimpleString
        return _attribute(test.left) if missing or chosen else []
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        inner = test.expression
        if type(inner) is cst.Call and type(inner.func) is cst.Name and inner.func.value == "hasattr":
            return _named(inner)
        return _attribute(inner)
    return []


def _attribute(node: cst.BaseExpression) -> list[tuple[str, str]]:
    if type(node) is cst.Attribute and type(node.value) is cst.Name:
        return [(node.value.value, node.attr.value)]
    return []


def _named(call: cst.Call) -> list[tuple[str, str]]:
    """The attribute in ``hasattr(self, "table")``."""
    values = [arg.value for arg in call.args]
    if len(values) == 2 and isinstance(values[0], cst.Name) and isinstance(values[1], cst.SimpleString):
        return [(values[0].value, str(values[1].evaluated_value))]
    return []


def _stores(block: cst.CSTNode, receiver: str, name: str) -> Iterator[cst.BaseExpression]:
    """What ``block`` assigns to ``receiver.name``."""
    for node in walk(block):
        if type(node) is cst.Assign:
            for target in node.targets:
                if (receiver, name) in _attribute(target.target):
                    yield node.value


def _methods(interpreter: Interpreter, block: cst.CSTNode, receiver: str) -> Iterator[Function]:
    """The methods of the object called ``receiver`` that ``block`` calls."""
    owner = interpreter.frame.scope.find(receiver)
    for node in walk(block):
        if type(node) is cst.Call and isinstance(owner, Instance):
            for named, name in _attribute(node.func):
                found = owner.info.lookup(name) if named == receiver else None
                yield from (o for o in options(found) if isinstance(o, Function)) if found is not None else ()


def _counts(value: cst.BaseExpression, name: str) -> bool:
    """Whether ``value``, as in ``self.seen = self.seen + 1``, depends on what was there: a count, not a cache."""
    return any(isinstance(node, cst.Attribute) and node.attr.value == name for node in walk(value))


def _is_none(node: cst.BaseExpression) -> bool:
    return type(node) is cst.Name and node.value == "None"


def _is_false(value: cst.BaseExpression) -> bool:
    return type(value) is cst.Name and value.value == "False"
