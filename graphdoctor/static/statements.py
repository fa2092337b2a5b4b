"""Statements: how names and paths evolve. Each function returns True when control can go on behind the statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from graphdoctor.source.walk import walk
from graphdoctor.static import attributes, calls, conditions, definitions, expressions, imports, iterate, operators
from graphdoctor.static.events import Assert, Define, Enter, Import, Subscript
from graphdoctor.static.machine import Machine, Names, merge
from graphdoctor.static.values import (
    UNKNOWN,
    Const,
    External,
    Instance,
    Mapping,
    Returned,
    Seq,
    Value,
    join,
    may_be_tensor,
    options,
)  # fmt: skip


def run_block(machine: Machine, block: cst.BaseSuite) -> bool:
    """Interpret a suite. False when every path returns, raises, breaks or continues."""
    return run_statements(machine, block.body)


def run_statements(machine: Machine, body: Sequence[Any]) -> bool:
    """Interpret statements in order."""
    frame = machine.frame
    saved = frame.statement, frame.block
    statements: Any = tuple(body)
    try:
        for statement in body:
            kind = type(statement)
            if kind is cst.SimpleStatementLine:
                frame.statement, frame.block = statement, statements
                for small in statement.body:
                    if not _simple(machine, small):
                        return False
            elif kind in COMPOUND:
                frame.statement, frame.block = statement, statements
                if not COMPOUND[kind](machine, statement):
                    return False
            elif not _simple(machine, statement):
                return False
        return True
    finally:
        frame.statement, frame.block = saved


def _simple(machine: Machine, node: Any) -> bool:
    handler = SIMPLE.get(type(node))
    return True if handler is None else handler(machine, node)


def _expr(machine: Machine, node: cst.Expr) -> bool:
    if isinstance(node.value, (cst.SimpleString, cst.ConcatenatedString)):
        return True
    machine.unused = node.value
    expressions.evaluate(machine, node.value)
    return True


def _assign(machine: Machine, node: cst.Assign) -> bool:
    value = expressions.evaluate(machine, node.value)
    for target in node.targets:
        assign(machine, target.target, value)
    return True


def _annotated(machine: Machine, node: cst.AnnAssign) -> bool:
    if node.value is not None:
        value = expressions.evaluate(machine, node.value)
        declared = definitions.annotation(machine, node.annotation.annotation)
        assign(machine, node.target, declared if value is UNKNOWN else value)
    elif machine.frame.scope.kind == "class" and isinstance(node.target, cst.Name):
        machine.frame.scope.names.setdefault(node.target.value, UNKNOWN)
    return True


def _augmented(machine: Machine, node: cst.AugAssign) -> bool:
    operator = type(node.operator).__name__.removesuffix("Assign")
    if isinstance(node.target, cst.Subscript):
        receiver = expressions.evaluate(machine, node.target.value)
        index = expressions.index_values(machine, node.target)
        value = expressions.evaluate(machine, node.value)
        if may_be_tensor(receiver):
            machine.emit(Subscript, node.target, receiver=receiver, index=index, mode="augment", stored=value)
        return True
    before = expressions.evaluate(machine, node.target)
    value = expressions.evaluate(machine, node.value)
    after = operators.binary(machine, node, operator, before, value)
    if isinstance(node.target, cst.Attribute):
        attributes.write_attribute(
            machine, node.target, expressions.evaluate(machine, node.target.value), after, augmented=True
        )
    else:
        assign(machine, node.target, after)
    return True


def assign(machine: Machine, target: cst.BaseExpression, value: Value) -> None:
    """Bind ``target``, a name, attribute, subscript or a tuple of these, to ``value``."""
    if isinstance(target, cst.Name):
        scope = machine.frame.scope
        scope.forget(target.value)
        scope.assign(target.value, value)
    elif isinstance(target, cst.Attribute):
        attributes.write_attribute(machine, target, expressions.evaluate(machine, target.value), value, augmented=False)
    elif isinstance(target, cst.Subscript):
        _store_item(machine, target, value)
    elif isinstance(target, (cst.Tuple, cst.List)):
        _unpack(machine, target.elements, value)
    elif isinstance(target, cst.StarredElement):
        assign(machine, target.value, Seq("list", None, UNKNOWN))


def _store_item(machine: Machine, target: cst.Subscript, value: Value) -> None:
    receiver = expressions.evaluate(machine, target.value)
    index = expressions.index_values(machine, target)
    if may_be_tensor(receiver):
        machine.emit(Subscript, target, receiver=receiver, index=index, mode="store", stored=value)
        return
    updated: list[Value] = []
    for option in options(receiver):
        if isinstance(option, Mapping) and len(index) == 1 and isinstance(index[0], Const):
            key = index[0].value
            kept = tuple((k, v) for k, v in option.items if k != key)
            updated.append(Mapping((*kept, (key, value)), option.rest))
        elif isinstance(option, Mapping):
            updated.append(Mapping(option.items, value if option.rest is None else join(option.rest, value)))
        elif isinstance(option, Seq):
            items = option.items if option.items is not None else (option.element,)
            updated.append(Seq(option.kind, None, join(value, *items)))
        elif isinstance(option, External):
            machine.emit(Subscript, target, receiver=option, index=index, mode="store", stored=value)
            updated.append(option)
        elif isinstance(option, Instance) and option.info.lookup("__setitem__") is not None:
            calls.call_method(machine, target, option, "__setitem__", (*index, value))
            updated.append(option)
        else:
            updated.append(option)
    if isinstance(target.value, (cst.Name, cst.Attribute)):
        put_back(machine, target.value, join(*updated))


def put_back(machine: Machine, target: cst.BaseExpression, value: Value) -> None:
    """Store a container that was changed in place where it was read from."""
    if isinstance(target, cst.Name):
        scope = machine.frame.scope
        if target.value in scope.names:
            scope.names[target.value] = value
    elif isinstance(target, cst.Attribute):
        for option in options(expressions.evaluate(machine, target.value)):
            if isinstance(option, Instance) and target.attr.value in option.attrs:
                option.attrs[target.attr.value] = value


def _unpack(machine: Machine, targets: Sequence[cst.BaseElement], value: Value) -> None:
    stars = [i for i, t in enumerate(targets) if isinstance(t, cst.StarredElement)]
    items, element = iterate.elements(machine, targets[0].value if targets else None, value, count=len(targets))
    for position, target in enumerate(targets):
        if isinstance(target, cst.StarredElement):
            if items is not None:
                rest = items[position : len(items) - (len(targets) - position - 1)]
                assign(machine, target.value, Seq("list", tuple(rest)))
            else:
                assign(machine, target.value, Seq("list", None, element))
        elif items is not None and (not stars or position < stars[0]) and position < len(items):
            assign(machine, target.value, items[position])
        elif items is not None and stars and len(targets) - position <= len(items):
            assign(machine, target.value, items[position - len(targets)])
        else:
            assign(machine, target.value, element)


def _return(machine: Machine, node: cst.Return) -> bool:
    machine.frame.returns.append(expressions.evaluate(machine, node.value) if node.value is not None else Const(None))
    return False


def _raise(machine: Machine, node: cst.Raise) -> bool:
    # The error path: its message may read tensor data, but a trace gets here only when the program fails.
    with machine.path(muted=True):
        if node.exc is not None:
            expressions.evaluate(machine, node.exc)
    return False


def _assert(machine: Machine, node: cst.Assert) -> bool:
    test = expressions.evaluate(machine, node.test)
    message = None
    if node.msg is not None:
        with machine.path(muted=True):
            message = expressions.evaluate(machine, node.msg)
    machine.emit(Assert, node, test=test, message=message)
    if not may_be_tensor(test):
        expressions.truth(machine, node.test, test, "assert", node)
    conditions.narrow(machine, node.test, positive=True)
    return True


def _break(machine: Machine, node: cst.BaseSmallStatement) -> bool:
    machine.frame.exits.append(machine.snapshot())
    return False


def _del(machine: Machine, node: cst.Del) -> bool:
    target = node.target
    for item in [e.value for e in target.elements] if isinstance(target, (cst.Tuple, cst.List)) else [target]:
        if isinstance(item, cst.Name):
            machine.frame.scope.names.pop(item.value, None)
        elif isinstance(item, cst.Subscript):
            receiver = expressions.evaluate(machine, item.value)
            index = expressions.index_values(machine, item)
            machine.emit(Subscript, item, receiver=receiver, index=index, mode="delete")
    return True


def _outer(machine: Machine, node: cst.Global | cst.Nonlocal) -> bool:
    machine.frame.scope.outer.update(item.name.value for item in node.names)
    return True


def _import(machine: Machine, node: cst.Import | cst.ImportFrom) -> bool:
    if machine.frame.function is not None:
        machine.emit(Import, node, names=imports.import_names(machine, node), optional=machine.frame.trying)
    imports.execute_import(machine, node)
    return True


def only_raises(block: cst.BaseSuite | None) -> bool:
    """True when every path through the block ends in a raise: it runs only when the program fails."""
    if block is None or not block.body:
        return False
    last = block.body[-1]
    if isinstance(last, cst.SimpleStatementLine):
        return isinstance(last.body[-1], cst.Raise)
    if isinstance(last, cst.Raise):
        return True
    if isinstance(last, cst.If):
        other = last.orelse
        if isinstance(other, cst.Else):
            return only_raises(last.body) and only_raises(other.body)
        return isinstance(other, cst.If) and only_raises(last.body) and only_raises(cst.IndentedBlock(body=[other]))
    return False


def _if(machine: Machine, node: cst.If) -> bool:
    verdict = conditions.ask(machine, node.test, "if", node)
    before = machine.snapshot()
    ends: list[Names] = []
    if verdict is not False:
        with machine.path(conditional=verdict is None, muted=verdict is None and only_raises(node.body)):
            conditions.narrow(machine, node.test, positive=True)
            if run_block(machine, node.body):
                ends.append(machine.snapshot())
    machine.restore(dict(before))
    if verdict is False:
        conditions.keep_missing(machine, node.test)
    if verdict is not True:
        body = node.orelse.body if isinstance(node.orelse, cst.Else) else None
        with machine.path(conditional=verdict is None, muted=verdict is None and only_raises(body)):
            conditions.narrow(machine, node.test, positive=False)
            if isinstance(node.orelse, cst.If):
                frame = machine.frame
                frame.statement = node.orelse
                falls = _if(machine, node.orelse)
                frame.statement = node
            else:
                falls = body is None or run_block(machine, body)
            if falls:
                ends.append(machine.snapshot())
    if not ends:
        return False
    machine.restore(merge(*ends))
    return True


def _loop(machine: Machine, node: cst.For | cst.While, bind: list[Value | None]) -> bool:
    """Run the body once per entry of ``bind`` (None: twice, for what one round leaves for the next)."""
    frame = machine.frame
    saved, frame.exits = frame.exits, []
    rounds = bind if bind != [None] else [None, None]
    with machine.path(whole_frame=True):
        for value in rounds:
            before = machine.snapshot()
            if isinstance(node, cst.For) and value is not None:
                assign(machine, node.target, value)
            if isinstance(node, cst.While):
                conditions.ask(machine, node.test, "while", node)
                conditions.narrow(machine, node.test, positive=True)
            falls = run_block(machine, node.body)
            ends = [machine.snapshot()] if falls else []
            machine.restore(merge(before, *ends, *frame.exits))
            frame.exits = []
    frame.exits = saved
    if node.orelse is not None:
        return run_block(machine, node.orelse.body)
    return True


def _for(machine: Machine, node: cst.For) -> bool:
    items, element = iterate.elements(machine, node.iter, expressions.evaluate(machine, node.iter))
    if items is not None and not items:
        return node.orelse is None or run_block(machine, node.orelse.body)
    if items is not None and len(items) <= 8:
        return _loop(machine, node, list(items))
    return _loop(machine, node, [element, element])


def _while(machine: Machine, node: cst.While) -> bool:
    falls = _loop(machine, node, [None])
    endless = isinstance(node.test, cst.Name) and node.test.value == "True"
    return falls and not (endless and not _has_break(node.body))


def _has_break(block: cst.BaseSuite) -> bool:
    inner = (cst.For, cst.While, cst.FunctionDef, cst.ClassDef)
    return any(isinstance(node, cst.Break) for node in walk(block, stop=inner))


def _try(machine: Machine, node: cst.Try) -> bool:
    before = machine.snapshot()
    with machine.path(whole_frame=True, trying=True):
        falls = run_block(machine, node.body)
    after = machine.snapshot()
    ends: list[Names] = []
    if falls:
        falls = node.orelse is None or run_block(machine, node.orelse.body)
        if falls:
            ends.append(machine.snapshot())
    for handler in node.handlers:
        machine.restore(merge(before, after))
        with machine.path(muted=True, conditional=True):
            if handler.name is not None:
                assign(machine, handler.name.name, UNKNOWN)
            if run_block(machine, handler.body):
                ends.append(machine.snapshot())
    machine.restore(merge(*ends) if ends else after)
    if node.finalbody is not None:
        with machine.path(whole_frame=True):
            if not run_block(machine, node.finalbody.body):
                return False
    return bool(ends)


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
            assign(machine, item.asname.name, entered)
    with machine.path(whole_frame=own):
        return run_block(machine, node.body)


def _function(machine: Machine, node: cst.FunctionDef) -> bool:
    machine.frame.scope.assign(node.name.value, definitions.define_function(machine, node))
    return True


def _class(machine: Machine, node: cst.ClassDef) -> bool:
    if machine.frame.function is not None:
        machine.emit(Define, node, name=node.name.value)
    machine.frame.scope.assign(node.name.value, definitions.define_class(machine, node))
    return True


def _match(machine: Machine, node: cst.Match) -> bool:
    subject = expressions.evaluate(machine, node.subject)
    if may_be_tensor(subject) and any(isinstance(c.pattern, cst.MatchValue) for c in node.cases):
        expressions.truth(machine, node.subject, subject, "match", node)
    before = machine.snapshot()
    ends: list[Names] = [] if _exhaustive(node) else [before]
    for case in node.cases:
        machine.restore(dict(before))
        with machine.path(conditional=True, muted=only_raises(case.body)):
            for name in _captures(case.pattern):
                assign(machine, name, subject if isinstance(case.pattern, cst.MatchAs) else UNKNOWN)
            if case.guard is not None:
                conditions.ask(machine, case.guard, "if", case)
            if run_block(machine, case.body):
                ends.append(machine.snapshot())
    machine.restore(merge(*ends) if ends else before)
    return bool(ends)


def _exhaustive(node: cst.Match) -> bool:
    last = node.cases[-1]
    return isinstance(last.pattern, cst.MatchAs) and last.pattern.pattern is None and last.guard is None


def _captures(pattern: cst.CSTNode) -> list[cst.Name]:
    found: list[cst.Name] = []
    if isinstance(pattern, (cst.MatchAs, cst.MatchStar)) and pattern.name is not None:
        found.append(pattern.name)
    for child in pattern.children:
        found += _captures(child)
    return found


SIMPLE: dict[type, Callable[[Machine, Any], bool]] = {
    cst.Expr: _expr, cst.Assign: _assign, cst.AnnAssign: _annotated, cst.AugAssign: _augmented, cst.Return: _return,
    cst.Raise: _raise, cst.Assert: _assert, cst.Break: _break, cst.Continue: _break, cst.Del: _del,
    cst.Global: _outer, cst.Nonlocal: _outer, cst.Import: _import, cst.ImportFrom: _import,
}  # fmt: skip

COMPOUND: dict[type, Callable[[Machine, Any], bool]] = {
    cst.If: _if, cst.For: _for, cst.While: _while, cst.Try: _try, cst.TryStar: _try, cst.With: _with,
    cst.FunctionDef: _function, cst.ClassDef: _class, cst.Match: _match,
}  # fmt: skip
