"""Branches that only the first call takes: they set what their test finds missing, or clear the flag that they test.

``if self.table is None: self.table = build()`` and ``if self.first: self.first = False``, and the same with names that
the function declares global, or with ``getattr`` and ``setattr``, as in decorators that keep what a method made; or
with an entry of a dict that outlives the call, ``if key not in CACHE: CACHE[key] = build(key)``. Of a module in use it
is not known whether the call that is compiled is its first. A sample that the file declares is a fresh module, and
there the branch runs, as for an object that the call makes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeGuard

import libcst as cst

from graphdoctor.static.domain.program import FunctionInfo, Scope
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Const, Function, Instance, Value
from graphdoctor.static.interp import conditions
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.syntax.assigned import assigned
from graphdoctor.syntax.walk import find


def runs_once(interpreter: Interpreter, node: cst.If) -> bool:
    """Whether the body of ``node`` makes its test false for all later calls."""
    if interpreter.region_facts.has_sample or not interpreter.frame.compiled:
        return False
    tested, flags = (_kept(interpreter, found) for found in (_must_be_unset(node.test), _must_be_true(node.test)))
    if any(_fills(interpreter, node.body, receiver, name) for receiver, name in tested):
        return True
    return any(_clears(interpreter, node.body, receiver, name) for receiver, name in flags)


def runs_once_unless(interpreter: Interpreter, node: cst.If) -> bool:
    """Whether what runs where the test of ``node`` is false makes it true for all later calls.

    That is the other branch, or the rest of the function where the first returns: ``if self.table is not None: return
    self.table``, and then ``self.table = build()``.
    """
    function = interpreter.frame.function
    if interpreter.region_facts.has_sample or not interpreter.frame.compiled or function is None:
        return False
    rest: Sequence[cst.CSTNode] = ()
    if type(node.orelse) is cst.Else:
        rest = (node.orelse.body,)
    elif node.orelse is None and _returns(node.body):
        lines = list(function.body.body) if isinstance(function.body, cst.BaseSuite) else []
        place = next((number for number, line in enumerate(lines) if line is node), len(lines))
        rest = lines[place + 1 :]
    tested = _kept(interpreter, _must_be_set(node.test)) if rest else []
    return any(_fills(interpreter, part, receiver, name) for part in rest for receiver, name in tested)


def note_filled(interpreter: Interpreter, node: cst.If) -> None:
    """After ``if self.table is None or self.size != n: self.table = build(n)``, ``self.table`` is not None."""
    for tested in _unset_in_any(node.test):
        if any(_assigns(line, tested.value.value, tested.attr.value) for line in node.body.body):
            conditions.narrow_to(interpreter, tested, lambda value: value != Const(None))


def _unset_in_any(test: cst.BaseExpression) -> Iterator[Any]:
    """The attributes of names that are not None where ``test`` is false."""
    if type(test) is cst.BooleanOperation and type(test.operator) is cst.Or:
        yield from _unset_in_any(test.left)
        yield from _unset_in_any(test.right)
        return
    asked = None
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        asked = test.expression
    elif type(test) is cst.Comparison and type(test.comparisons[0].operator) is cst.Is:
        asked = test.left if _is_none(test.comparisons[0].comparator) else None
    if type(asked) is cst.Attribute and type(asked.value) is cst.Name:
        yield asked


def _assigns(line: cst.CSTNode, receiver: str, name: str) -> bool:
    """Whether a line of a block, which runs with it, gives ``receiver.name`` a value."""
    if type(line) not in (cst.SimpleStatementLine, cst.Assign):
        return False
    return any(not _is_none(value) for value in _stores(line, receiver, name))


def _returns(block: cst.BaseSuite) -> bool:
    last = block.body[-1] if block.body else None
    return type(last) is cst.SimpleStatementLine and type(last.body[-1]) is cst.Return


def _must_be_set(test: cst.BaseExpression) -> list[tuple[str, str]]:
    """The attribute or name that must have a value for ``test``."""
    if type(test) is cst.Comparison and len(test.comparisons) == 1:
        part = test.comparisons[0]
        if type(part.operator) is cst.In:
            return _entry(part.comparator, test.left)
        return _place(test.left) if type(part.operator) is cst.IsNot and _is_none(part.comparator) else []
    if _is_call_of(test, "hasattr"):
        return _named(test)
    return _must_be_true(test) if type(test) in (cst.Attribute, cst.Name) else []


def _kept(interpreter: Interpreter, found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those of ``found`` that outlive the call: attributes, names that are declared global or nonlocal, and entries of
    dicts that a module or an object holds.

    For a local name that is read from one, ``table = self.table`` or ``CACHE.get(key)``, it is that one. The attributes
    of an object that compiled code makes do not outlive it.
    """
    scope, function = interpreter.frame.scope, interpreter.frame.function
    places: list[tuple[str, str]] = []
    for receiver, name in found:
        is_local = not receiver and name not in scope.outer
        read = function.first_values.get(name) if is_local and function is not None else None
        places += [(receiver, name)] if read is None else _place(read)
    return [place for place in places if _outlives(scope, *place)]


def _outlives(scope: Scope, receiver: str, name: str) -> bool:
    if receiver:
        return not _made_inside(scope.find(receiver))
    container, _, key = name.partition("[")
    # A dict that a function makes or gets is not known to outlive the call.
    return container not in scope.names if key else name in scope.outer


def _made_inside(receiver: Value | None) -> bool:
    return receiver is not None and all(isinstance(o, Instance) and o.inside for o in options(receiver))


def _must_be_true(test: cst.BaseExpression) -> list[tuple[str, str]]:
    """The attributes, each with its object's name, and the names (of no object) that must be true for ``test``."""
    if type(test) is cst.BooleanOperation and type(test.operator) is cst.And:
        return _must_be_true(test.left) + _must_be_true(test.right)
    # ``self.training`` is set by users, more than once.
    return [flag for flag in _place(test) if flag[1] != "training"]


def _clears(interpreter: Interpreter, block: cst.BaseSuite, receiver: str, name: str) -> bool:
    """Whether ``block`` makes ``receiver.name`` False, and nothing in the function makes it true."""
    function = interpreter.frame.function
    cleared = any(map(_is_false, _stores(block, receiver, name)))
    return cleared and function is not None and all(map(_is_false, _stores(function.body, receiver, name)))


def _fills(interpreter: Interpreter, block: cst.CSTNode, receiver: str, name: str) -> bool:
    """Whether ``block`` gives ``receiver.name`` a value that stays."""
    stored = list(_stores(block, receiver, name))
    for called in _methods(interpreter, block, receiver):
        stored += _stores(called.info.body, receiver, name)
    if all(_counts(value, receiver, name) for value in stored):
        return False
    function = interpreter.frame.function
    if function is None:
        return True
    container = name.partition("[")[0]
    if container != name and _is_emptied(function.body, receiver, container):
        return False
    if any(_is_none(value) for value in _stores(function.body, receiver, name)):
        return False
    return not _is_reset(function, receiver, name)


def _is_reset(function: FunctionInfo, receiver: str, name: str) -> bool:
    """Whether another method of the class takes the value away, as for weights that have changed."""
    owner = function.owner
    if owner is None or receiver != "self":
        return False
    # Most attributes are set to None in one constructor only; the bodies of methods are converted when they are read.
    if len(re.findall(rf"\bself\.{re.escape(name)}(?!\w)[^=\n(]*= None\b", function.module.source.text)) < 2:
        return False
    methods = (each for known in owner.mro for each in known.attrs.values() if isinstance(each, Function))
    others = (each.info for each in methods if each.info is not function and each.info.name != "__init__")
    return any(_is_none(value) for other in others for value in _stores(other.body, receiver, name))


def _is_emptied(body: cst.CSTNode, receiver: str, name: str) -> bool:
    """Whether ``body`` makes a dict anew, or takes entries out of it."""
    if any(_stores(body, receiver, name)):
        return True
    methods = (call.func for call in find(body, cst.Call) if type(call.func) is cst.Attribute)
    return any(m.attr.value in ("clear", "pop", "popitem") and (receiver, name) in _place(m.value) for m in methods)


def _must_be_unset(test: cst.BaseExpression) -> list[tuple[str, str]]:
    """The attributes and names that must lack a value (or have one certain value) for ``test``."""
    # Classes are compared: nodes are abstract base classes, with a slow ``isinstance``, and this runs for each ``if``.
    if type(test) is cst.BooleanOperation and type(test.operator) is cst.And:
        return _must_be_unset(test.left) + _must_be_unset(test.right)
    if type(test) is cst.Comparison and len(test.comparisons) == 1:
        part = test.comparisons[0]
        if type(part.operator) is cst.NotIn:
            return _entry(part.comparator, test.left)
        missing = type(part.operator) is cst.Is and _is_none(part.comparator)
        chosen = type(part.operator) is cst.Equal and type(part.comparator) is cst.SimpleString
        return _place(test.left) if missing or chosen else []
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        inner = test.expression
        if _is_call_of(inner, "hasattr"):
            return _named(inner)
        return _place(inner)
    return []


def _place(node: cst.BaseExpression) -> list[tuple[str, str]]:
    if type(node) is cst.Attribute and type(node.value) is cst.Name:
        return [(node.value.value, node.attr.value)]
    if _is_call_of(node, "getattr"):
        return _named(node)
    if type(node) is cst.Subscript and len(node.slice) == 1 and type(node.slice[0].slice) is cst.Index:
        return _entry(node.value, node.slice[0].slice.value)
    if type(node) is cst.Call and type(node.func) is cst.Attribute and node.func.attr.value == "get" and node.args:
        return _entry(node.func.value, node.args[0].value)
    return [("", node.value)] if type(node) is cst.Name else []


def _entry(container: cst.BaseExpression, key: cst.BaseExpression) -> list[tuple[str, str]]:
    """The entry under ``key``, a name or a string, of a dict that is a name or an attribute: ``CACHE[key]``."""
    if type(key) not in (cst.Name, cst.SimpleString) or type(container) not in (cst.Name, cst.Attribute):
        return []
    return [(receiver, f"{name}[{key.value}]") for receiver, name in _place(container)]  # type: ignore[attr-defined]


def _is_call_of(node: cst.CSTNode, builtin: str) -> TypeGuard[cst.Call]:
    return type(node) is cst.Call and type(node.func) is cst.Name and node.func.value == builtin


def _named(call: cst.Call) -> list[tuple[str, str]]:
    """The attribute in ``hasattr(self, "table")``; one that a name chooses, ``getattr(self, key)``, is ``[key]``."""
    values = [arg.value for arg in call.args[:2]]
    if len(values) == 2 and isinstance(values[0], cst.Name):
        if isinstance(values[1], cst.SimpleString):
            return [(values[0].value, str(values[1].evaluated_value))]
        if isinstance(values[1], cst.Name):
            return [(values[0].value, f"[{values[1].value}]")]
    return []


def _stores(block: cst.CSTNode, receiver: str, name: str) -> Iterator[cst.BaseExpression]:
    """The values that ``block`` assigns to ``receiver.name``."""
    for node in find(block, cst.Assign):
        for target in node.targets:
            for part, value in assigned(target.target, node.value):
                if (receiver, name) in _place(part):
                    yield value
    for call in find(block, cst.Call) if receiver else ():
        if _sets(call, receiver, name):
            yield call.args[2].value


def _sets(call: cst.Call, receiver: str, name: str) -> bool:
    """Whether it is ``setattr(receiver, "name", value)``."""
    return _is_call_of(call, "setattr") and len(call.args) == 3 and (receiver, name) in _named(call)


def _methods(interpreter: Interpreter, block: cst.CSTNode, receiver: str) -> Iterator[Function]:
    """The methods of the object called ``receiver`` that ``block`` calls."""
    owner = interpreter.frame.scope.find(receiver)
    if not isinstance(owner, Instance):
        return
    for call in find(block, cst.Call):
        for named, name in _place(call.func):
            found = owner.info.lookup(name) if named == receiver else None
            yield from (o for o in options(found) if isinstance(o, Function)) if found is not None else ()


def _counts(value: cst.BaseExpression, receiver: str, name: str) -> bool:
    """Whether ``value`` depends on the old value, as in ``self.seen = self.seen + 1``: a counter, not a cache."""
    if receiver:
        return any(node.attr.value == name for node in find(value, cst.Attribute))
    return any(node.value == name for node in find(value, cst.Name))


def _is_none(node: cst.BaseExpression) -> bool:
    return type(node) is cst.Name and node.value == "None"


def _is_false(value: cst.BaseExpression) -> bool:
    return type(value) is cst.Name and value.value == "False"
