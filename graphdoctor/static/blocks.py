"""Compound statements: which paths are taken, and what is known on each."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import libcst as cst

from graphdoctor.source.walk import walk
from graphdoctor.static import (
    assignments,
    calls,
    conditions,
    definitions,
    expressions,
    facts,
    loops,
    matching,
    once,
    statements,
)
from graphdoctor.static.events import Define, Enter
from graphdoctor.static.machine import Machine, Names, merge
from graphdoctor.static.values import (
    UNKNOWN,
    Class,
    External,
    Instance,
    Returned,
    Seq,
    Value,
    options,
)  # fmt: skip


def only_raises(block: cst.BaseSuite | None) -> bool:
    """True when every path through the block ends in a raise: it runs only when the program fails."""
    if block is None or not block.body:
        return False
    last = block.body[-1]
    if type(last) is cst.SimpleStatementLine:
        return type(last.body[-1]) is cst.Raise
    if type(last) is cst.Raise:
        return True
    if type(last) is cst.If:
        other = last.orelse
        if type(other) is cst.Else:
            return only_raises(last.body) and only_raises(other.body)
        return type(other) is cst.If and only_raises(last.body) and only_raises(cst.IndentedBlock(body=[other]))
    return False


def _if(machine: Machine, node: cst.If) -> bool:
    verdict, sample = conditions.ask(machine, node.test, "if", node)
    before = machine.snapshot()
    ends: list[Names] = []
    if verdict is not False:
        with machine.path(
            conditional=verdict is None,
            untaken=sample is False or once.runs_once(machine, node),
            muted=verdict is None and only_raises(node.body),
        ):
            conditions.narrow(machine, node.test, positive=True)
            if statements.run_block(machine, node.body):
                ends.append(machine.frame.scope.names)
    machine.restore(before)
    body = node.orelse.body if type(node.orelse) is cst.Else else None
    if verdict is False:
        conditions.keep_missing(machine, node.test)
    if verdict is not True:
        with machine.path(
            conditional=verdict is None, untaken=sample is True, muted=verdict is None and only_raises(body)
        ):
            conditions.narrow(machine, node.test, positive=False)
            if type(node.orelse) is cst.If:
                frame = machine.frame
                frame.statement = node.orelse
                falls = _if(machine, node.orelse)
                frame.statement = node
            else:
                falls = body is None or statements.run_block(machine, body)
            if falls:
                ends.append(machine.frame.scope.names)
    if not ends:
        return False
    machine.restore(merge(*ends))
    if verdict is None and sample is not None and _leaves(node.body if sample else body):
        machine.frame.untaken = True
    return True


def _leaves(block: cst.BaseSuite | None) -> bool:
    """True when the block ends the function."""
    last = block.body[-1] if block is not None and block.body else None
    return type(last) is cst.SimpleStatementLine and type(last.body[-1]) in (cst.Return, cst.Raise)


def _try(machine: Machine, node: cst.Try) -> bool:
    before = machine.snapshot()
    frame = machine.frame
    outer, frame.failure = frame.failure, None
    decided, frame.conditional = frame.conditional, False
    with machine.path(whole_frame=True, trying=True):
        falls = statements.run_block(machine, node.body)
    frame.conditional = decided
    failure, frame.failure = frame.failure, outer
    after = machine.snapshot()
    ends: list[Names] = []
    if falls:
        falls = node.orelse is None or statements.run_block(machine, node.orelse.body)
        if falls:
            ends.append(machine.snapshot())
    for handler in () if _cannot_fail(machine, node.body) else node.handlers:
        machine.restore(merge(before, after))
        taken = failure is not None and _catches(machine, handler, failure)
        if taken:
            failure = None
        with machine.path(muted=not taken, conditional=True, whole_frame=taken):
            if handler.name is not None:
                assignments.assign(machine, handler.name.name, UNKNOWN)
            if statements.run_block(machine, handler.body):
                ends.append(machine.snapshot())
    machine.restore(merge(*ends) if ends else after)
    if node.finalbody is not None:
        with machine.path(whole_frame=True):
            if not statements.run_block(machine, node.finalbody.body):
                return False
    return bool(ends)


def _cannot_fail(machine: Machine, body: cst.BaseSuite) -> bool:
    """True when all that a ``try`` calls is ``is_compiling()`` or the like: its handlers are for other versions."""
    made = [node for node in walk(body) if type(node) is cst.Call]
    return bool(made) and all(machine.callees.get(id(node)) in facts.COMPILE_TIME for node in made)


def fail(machine: Machine, error: Value) -> None:
    """Note that the innermost ``try`` of this frame surely meets ``error``, an exception class."""
    frame = machine.frame
    if frame.trying and not frame.conditional and frame.failure is None:
        frame.failure = error


def _catches(machine: Machine, handler: cst.ExceptHandler | cst.ExceptStarHandler, error: Value) -> bool:
    """Whether ``handler`` surely takes exceptions of the class ``error``."""
    if handler.type is None:
        return True
    with machine.path(muted=True):
        wanted = expressions.evaluate(machine, handler.type)
    classes = wanted.items if isinstance(wanted, Seq) and wanted.items is not None else (wanted,)
    caught = [_exception(c) for c in classes if isinstance(c, External)]
    raised = [_exception(e) for e in _lineage(error)]
    return error in classes or any(r is not None and c is not None and issubclass(r, c) for r in raised for c in caught)


def _lineage(error: Value) -> list[Value]:
    return [error, *(External(name) for name in error.info.externals)] if isinstance(error, Class) else [error]


def _exception(value: Value) -> type[BaseException] | None:
    """The builtin exception class that ``value`` names."""
    name = value.qualname.removeprefix("builtins.") if isinstance(value, External) else ""
    found = getattr(builtins, name, None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def _with(machine: Machine, node: cst.With) -> bool:
    own = False
    for item in node.items:
        value = expressions.evaluate(machine, item.item)
        qualname = machine.callees.get(id(item.item))
        machine.emit(Enter, item.item, value=value, qualname=qualname)
        entered: Value = UNKNOWN
        for option in options(value):
            if isinstance(option, Instance) and option.info.lookup("__enter__") is not None:
                own = True
                entered = calls.call_method(machine, item.item, option, "__enter__", ())
            elif isinstance(option, Returned):
                entered = option
                own = own or option.qualname == "contextlib.contextmanager"
        if item.asname is not None and isinstance(item.asname.name, cst.BaseExpression):
            assignments.assign(machine, item.asname.name, entered)
    with machine.path(whole_frame=own):
        return statements.run_block(machine, node.body)


def _match(machine: Machine, node: cst.Match) -> bool:
    subject = expressions.evaluate(machine, node.subject)
    name = conditions.dotted(node.subject)
    ends: list[Names] = []
    left: Names | None = machine.snapshot()
    surely = True
    for case in node.cases:
        assert left is not None
        machine.restore(dict(left))
        with machine.path(conditional=not surely):
            taken = matching.verdict(machine, node, case.pattern, subject)
        if taken is False:
            continue
        before = machine.snapshot()
        with machine.path(conditional=not surely or taken is None):
            within = matching.within(machine, case.pattern, subject)
            _know(machine, name, within, subject)
            matching.bind(machine, case.pattern, within)
            guard = conditions.ask(machine, case.guard, "if", case).verdict if case.guard is not None else True
            if guard is not False:
                decided = taken is True and guard is True
                with machine.path(conditional=guard is None, muted=not decided and only_raises(case.body)):
                    if case.guard is not None:
                        conditions.narrow(machine, case.guard, positive=True)
                    if statements.run_block(machine, case.body):
                        ends.append(machine.snapshot())
        if taken is True and guard is True:
            left = None
            break
        surely = surely and guard is False
        machine.restore(before)
        if case.guard is None:
            rest = matching.without(machine, case.pattern, subject)
            _know(machine, name, rest, subject)
            subject = rest
        left = machine.snapshot()
    if left is not None:
        ends.append(left)
    if not ends:
        return False
    machine.restore(merge(*ends))
    return True


def _know(machine: Machine, name: str | None, narrowed: Value, subject: Value) -> None:
    """Note what a pattern says of the subject, where that is a name or an attribute."""
    if name is not None and narrowed is not subject:
        conditions.note(machine, name, narrowed)


def _function(machine: Machine, node: cst.FunctionDef) -> bool:
    machine.frame.scope.assign(node.name.value, definitions.define_function(machine, node))
    return True


def _class(machine: Machine, node: cst.ClassDef) -> bool:
    if machine.frame.function is not None:
        machine.emit(Define, node, name=node.name.value)
    machine.frame.scope.assign(node.name.value, definitions.define_class(machine, node))
    return True


#: What runs each compound statement; each returns True when control can go on behind it.
COMPOUND: dict[type, Callable[[Machine, Any], bool]] = {
    cst.If: _if, cst.For: loops.run_for, cst.While: loops.run_while, cst.Try: _try,
    cst.TryStar: _try, cst.With: _with,
    cst.FunctionDef: _function, cst.ClassDef: _class, cst.Match: _match,
}  # fmt: skip
