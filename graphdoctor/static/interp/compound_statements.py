"""Compound statements: which paths are taken, and what is known on each."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import libcst as cst

from graphdoctor.static.domain import torch_tables
from graphdoctor.static.domain.events import Define, Enter
from graphdoctor.static.domain.frames import Names
from graphdoctor.static.domain.value_functions import mark_assumed, marked, options
from graphdoctor.static.domain.values import (
    UNKNOWN,
    ChosenBy,
    Class,
    Const,
    External,
    ExternalObject,
    Hook,
    Instance,
    OneOf,
    Seq,
    Value,
)
from graphdoctor.static.interp import (
    assignments,
    calls,
    conditions,
    definitions,
    expressions,
    first_call,
    loops,
    match_statements,
    predicates,
    statements,
)
from graphdoctor.static.interp.interpreter import Interpreter, merge
from graphdoctor.syntax.walk import find, walk


def only_raises(block: cst.BaseSuite | None) -> bool:
    """Whether every path through the block ends in a raise, so that it runs only when the program fails."""
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


def _if(interpreter: Interpreter, node: cst.If) -> bool:
    verdict, sample, by_data = conditions.ask(interpreter, node.test, "if", node)
    if verdict is False and _compiles_by_option(interpreter, node):
        verdict = None
    before = interpreter.snapshot()
    asked = _asked_name(node.test)
    known = before.get(asked) if asked else None
    returned = len(interpreter.frame.returns)
    mode = predicates.asked_mode(node.test)
    ends: list[Names] = []
    if verdict is not False:
        with interpreter.path(
            conditional=verdict is None,
            training=mode,
            untaken=sample is False or first_call.runs_once(interpreter, node),
            muted=verdict is None and only_raises(node.body),
        ):
            conditions.narrow(interpreter, node.test, positive=True)
            if statements.run_block(interpreter, node.body):
                ends.append(interpreter.frame.scope.names)
    goes_on = bool(ends)
    interpreter.restore(before)
    body = node.orelse.body if type(node.orelse) is cst.Else else None
    if verdict is False:
        conditions.keep_missing(interpreter, node.test)
    fills = verdict is not True and first_call.runs_once_unless(interpreter, node)
    if verdict is not True:
        with interpreter.path(
            conditional=verdict is None,
            training=None if mode is None else not mode,
            untaken=sample is True or fills,
            muted=verdict is None and only_raises(body),
        ):
            conditions.narrow(interpreter, node.test, positive=False)
            if _run_else(interpreter, node):
                ends.append(interpreter.frame.scope.names)
    if not ends:
        return False
    if mode is not None and len(ends) == 1 and verdict is None:
        # One side left the function: the rest runs in the mode of the other.
        interpreter.frame.training = mode is goes_on
    chosen_by: ChosenBy = "data" if by_data else predicates.chosen_by_mode(node.test)
    if len(ends) == 2 and chosen_by:
        _mark_flags(ends[0], ends[1], chosen_by)
    interpreter.restore(merge(*ends))
    if verdict is not False:
        first_call.note_filled(interpreter, node)
    if known is not None and len(ends) == 2:
        _forget_narrowing(interpreter, asked, known)
    frame = interpreter.frame
    passed_by = (
        _leaves(node.body if sample else body) if sample is not None else frame.guessed and _ends(node.body, body)
    )
    if (verdict is None and passed_by) or (fills and body is None):
        frame.untaken = True
    if verdict is None and len(frame.returns) > returned and not predicates.asks_for_kind(node.test):
        frame.may_be_left = True
    return True


def _compiles_by_option(interpreter: Interpreter, node: cst.If) -> bool:
    """Whether the body of ``node`` compiles something where an option, which is off here, is on.

    Who asks what torch.compile does means the program with the option.
    """
    if interpreter.frame.compiled or (type(node.test) is cst.Name and node.test.value == "False"):
        return False
    return any(map(may_compile, find(node.body, cst.Call)))


def may_compile(call: cst.Call) -> bool:
    """Whether ``call`` may be one of torch.compile, or of ``compile`` of a module."""
    func = call.func
    if type(func) is not cst.Attribute or func.attr.value != "compile":
        return False
    return type(func.value) is not cst.Name or func.value.value not in ("re", "regex")


def _run_else(interpreter: Interpreter, node: cst.If) -> bool:
    """Interpret what runs where the test of ``node`` is false."""
    if node.orelse is None:
        return True
    # By class, not ``isinstance``, which is slow for the abstract base classes that libcst's nodes are.
    if type(node.orelse) is not cst.If:
        return statements.run_block(interpreter, node.orelse.body)
    frame = interpreter.frame
    frame.statement = node.orelse
    falls = _if(interpreter, node.orelse)
    frame.statement = node
    return falls


def _asked_name(test: cst.BaseExpression) -> str:
    """``x`` of ``isinstance(x, Tensor)``, if it is a name."""
    asked = test.args[0].value if type(test) is cst.Call and test.args else None
    return asked.value if type(asked) is cst.Name else ""


def _forget_narrowing(interpreter: Interpreter, name: str, before: Value) -> None:
    """After both sides of ``isinstance(x, Tensor)``, ``x`` is what it was: no surer to be a tensor."""
    names = interpreter.frame.scope.names
    if {*map(mark_assumed, options(names.get(name, before)))} == {*map(mark_assumed, options(before))}:
        names[name] = before


def _mark_flags(one: Names, other: Names, chosen_by: ChosenBy) -> None:
    """Mark flags and numbers that stand for tensor data: one side of a branch on a tensor, or on the mode, sets the
    flag where the other has a tensor.

    ``if dt > limit: accept = False``: the data decides which side is taken, so either may be traced.
    """
    for flags, tensors in ((one, other), (other, one)):
        for name, flag in flags.items():
            if type(flag) in (Const, OneOf) and name in tensors:
                flags[name] = marked(flag, tensors[name], chosen_by)


def _ends(*blocks: cst.BaseSuite | None) -> bool:
    return any(map(_leaves, blocks))


def _leaves(block: cst.BaseSuite | None) -> bool:
    """True when the block ends the function."""
    last = block.body[-1] if block is not None and block.body else None
    return type(last) is cst.SimpleStatementLine and type(last.body[-1]) in (cst.Return, cst.Raise)


def _raises(block: cst.BaseSuite) -> bool:
    """True when the block ends in an exception."""
    last = block.body[-1] if block.body else None
    return type(last) is cst.SimpleStatementLine and type(last.body[-1]) is cst.Raise


def _try(interpreter: Interpreter, node: cst.Try) -> bool:
    before = interpreter.snapshot()
    frame = interpreter.frame
    outer, frame.failure = frame.failure, None
    decided, frame.conditional = frame.conditional, False
    recovered, frame.recovers = frame.recovers, frame.recovers or not all(_raises(h.body) for h in node.handlers)
    with interpreter.path(whole_frame=node, trying=True):
        falls = statements.run_block(interpreter, node.body)
    frame.conditional, frame.recovers = decided, recovered
    failure, frame.failure = frame.failure, outer
    after = interpreter.snapshot()
    ends: list[Names] = []
    if falls:
        falls = node.orelse is None or statements.run_block(interpreter, node.orelse.body)
        if falls:
            ends.append(interpreter.snapshot())
    for handler in () if _cannot_fail(interpreter, node.body) else node.handlers:
        interpreter.restore(merge(before, after))
        taken = failure is not None and _catches(interpreter, handler, failure)
        if taken:
            failure = None
        with interpreter.path(muted=not taken, conditional=True, whole_frame=node if taken else None):
            if handler.name is not None:
                assignments.assign(interpreter, handler.name.name, UNKNOWN)
            if statements.run_block(interpreter, handler.body):
                ends.append(interpreter.snapshot())
    interpreter.restore(merge(*ends) if ends else after)
    if node.finalbody is not None:
        with interpreter.path(whole_frame=node):
            if not statements.run_block(interpreter, node.finalbody.body):
                return False
    return bool(ends)


def _cannot_fail(interpreter: Interpreter, body: cst.BaseSuite) -> bool:
    """Whether a ``try`` calls only ``is_compiling()`` or the like: its handlers are for other versions of torch."""
    made = [node for node in walk(body) if type(node) is cst.Call]
    return bool(made) and all(interpreter.callees.get(id(node)) in torch_tables.COMPILE_TIME for node in made)


def fail(interpreter: Interpreter, error: Value) -> None:
    """Note that the innermost ``try`` of this frame surely meets ``error``, an exception class."""
    frame = interpreter.frame
    if frame.trying and not frame.conditional and frame.failure is None:
        frame.failure = error


def _catches(interpreter: Interpreter, handler: cst.ExceptHandler | cst.ExceptStarHandler, error: Value) -> bool:
    """Whether ``handler`` surely takes exceptions of the class ``error``."""
    if handler.type is None:
        return True
    with interpreter.path(muted=True):
        wanted = expressions.evaluate(interpreter, handler.type)
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


def _with(interpreter: Interpreter, node: cst.With) -> bool:
    own = False
    hooks: list[Hook] = []
    for item in node.items:
        value = expressions.evaluate(interpreter, item.item)
        qualname = interpreter.callees.get(id(item.item))
        interpreter.emit(Enter, item.item, value=value, qualname=qualname)
        entered: Value = UNKNOWN
        for option in options(value):
            if isinstance(option, Instance) and option.info.lookup("__enter__") is not None:
                own = True
                entered = calls.call_method(interpreter, item.item, option, "__enter__", ())
            elif isinstance(option, ExternalObject):
                entered = option
                own = own or option.qualname == "contextlib.contextmanager"
            elif isinstance(option, Hook):
                hooks.append(option)
        if item.asname is not None and isinstance(item.asname.name, cst.BaseExpression):
            assignments.assign(interpreter, item.asname.name, entered)
    with interpreter.path(whole_frame=node if own else None):
        goes_on = statements.run_block(interpreter, node.body)
    for hook in hooks:
        # Leaving the context of its handle removes a hook.
        interpreter.hooks.remove(hook)
    return goes_on


def _match(interpreter: Interpreter, node: cst.Match) -> bool:
    subject = expressions.evaluate(interpreter, node.subject)
    name = conditions.dotted(node.subject)
    ends: list[Names] = []
    left: Names | None = interpreter.snapshot()
    surely = True
    for case in node.cases:
        assert left is not None
        interpreter.restore(dict(left))
        with interpreter.path(conditional=not surely):
            taken = match_statements.verdict(interpreter, node, case.pattern, subject)
        if taken is False:
            continue
        before = interpreter.snapshot()
        with interpreter.path(conditional=not surely or taken is None):
            within = match_statements.within(interpreter, case.pattern, subject)
            _narrow_subject(interpreter, name, within, subject)
            match_statements.bind(interpreter, case.pattern, within)
            guard = conditions.ask(interpreter, case.guard, "if", case).verdict if case.guard is not None else True
            if guard is not False:
                decided = taken is True and guard is True
                with interpreter.path(conditional=guard is None, muted=not decided and only_raises(case.body)):
                    if case.guard is not None:
                        conditions.narrow(interpreter, case.guard, positive=True)
                    if statements.run_block(interpreter, case.body):
                        ends.append(interpreter.snapshot())
        if taken is True and guard is True:
            left = None
            break
        surely = surely and guard is False
        interpreter.restore(before)
        if case.guard is None:
            rest = match_statements.without(interpreter, case.pattern, subject)
            _narrow_subject(interpreter, name, rest, subject)
            subject = rest
        left = interpreter.snapshot()
    if left is not None:
        ends.append(left)
    if not ends:
        return False
    interpreter.restore(merge(*ends))
    return True


def _narrow_subject(interpreter: Interpreter, name: str | None, narrowed: Value, subject: Value) -> None:
    """Narrow the subject, a name or an attribute, by the pattern that it matched."""
    if name is not None and narrowed is not subject:
        conditions.note(interpreter, name, narrowed)


def _function(interpreter: Interpreter, node: cst.FunctionDef) -> bool:
    interpreter.frame.scope.assign(node.name.value, definitions.define_function(interpreter, node))
    return True


def _class(interpreter: Interpreter, node: cst.ClassDef) -> bool:
    if interpreter.frame.function is not None:
        interpreter.emit(Define, node, name=node.name.value)
    interpreter.frame.scope.assign(node.name.value, definitions.define_class(interpreter, node))
    return True


#: The interpreters of compound statements, by class. Each returns True when control can go on after the statement.
COMPOUND: dict[type, Callable[[Interpreter, Any], bool]] = {
    cst.If: _if, cst.For: loops.run_for, cst.While: loops.run_while, cst.Try: _try,
    cst.TryStar: _try, cst.With: _with,
    cst.FunctionDef: _function, cst.ClassDef: _class, cst.Match: _match,
}  # fmt: skip
