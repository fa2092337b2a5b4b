"""Statements: how names and paths evolve. Each function returns True when control can go on behind the statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from graphdoctor.static import assignments, attributes, blocks, conditions, definitions, expressions, imports, operators
from graphdoctor.static.events import Assert, Import, Subscript
from graphdoctor.static.machine import Frame, Machine
from graphdoctor.static.values import (
    UNKNOWN,
    Const,
    may_be_tensor,
)  # fmt: skip


def run_block(machine: Machine, block: cst.BaseSuite) -> bool:
    """Interpret a suite. False when every path returns, raises, breaks or continues."""
    return run_statements(machine, block.body)


def run_statements(machine: Machine, body: Sequence[Any]) -> bool:
    """Interpret statements in order."""
    frame = machine.frame
    saved = frame.statement
    try:
        for statement in body:
            restarts = machine.restarts
            kind = type(statement)
            if kind is cst.SimpleStatementLine:
                frame.statement = statement
                machine.judge(statement)
                for small in statement.body:
                    if not _simple(machine, small):
                        return False
            elif kind in blocks.COMPOUND:
                frame.statement = statement
                machine.judge(statement)
                if not blocks.COMPOUND[kind](machine, statement):
                    return False
            elif not _simple(machine, statement):
                return False
            machine.resume(restarts)
        return True
    finally:
        frame.statement = saved


def _simple(machine: Machine, node: Any) -> bool:
    handler = SIMPLE.get(type(node))
    return True if handler is None else handler(machine, node)


def _expr(machine: Machine, node: cst.Expr) -> bool:
    if type(node.value) in (cst.SimpleString, cst.ConcatenatedString):
        return True
    machine.unused = node.value
    expressions.evaluate(machine, node.value)
    return True


def _assign(machine: Machine, node: cst.Assign) -> bool:
    value = expressions.evaluate(machine, node.value)
    for target in node.targets:
        assignments.assign(machine, target.target, value)
    return True


def _annotated(machine: Machine, node: cst.AnnAssign) -> bool:
    if node.value is not None:
        value = expressions.evaluate(machine, node.value)
        if value is UNKNOWN:
            value = definitions.annotation(machine, node.annotation.annotation)
        assignments.assign(machine, node.target, value)
    elif machine.frame.scope.kind == "class" and type(node.target) is cst.Name:
        machine.frame.scope.names.setdefault(node.target.value, UNKNOWN)
    return True


def _augmented(machine: Machine, node: cst.AugAssign) -> bool:
    operator = type(node.operator).__name__.removesuffix("Assign")
    if type(node.target) is cst.Subscript:
        receiver = expressions.evaluate(machine, node.target.value)
        index = expressions.index_values(machine, node.target)
        value = expressions.evaluate(machine, node.value)
        if may_be_tensor(receiver):
            machine.emit(Subscript, node.target, receiver=receiver, index=index, mode="augment")
        return True
    before = expressions.evaluate(machine, node.target)
    value = expressions.evaluate(machine, node.value)
    after = operators.binary(machine, node, operator, before, value)
    if type(node.target) is cst.Attribute:
        attributes.write_attribute(
            machine, node.target, expressions.evaluate(machine, node.target.value), after, augmented=True
        )
    else:
        assignments.assign(machine, node.target, after, augmented=True)
    return True


def _return(machine: Machine, node: cst.Return) -> bool:
    machine.frame.returns.append(expressions.evaluate(machine, node.value) if node.value is not None else Const(None))
    return False


def _raise(machine: Machine, node: cst.Raise) -> bool:
    # The error path: its message may read tensor data, but a trace gets here only when the program fails.
    if node.exc is not None:
        made = node.exc.func if type(node.exc) is cst.Call else node.exc
        with machine.path(muted=True):
            blocks.fail(machine, expressions.evaluate(machine, made))
    return False


def _assert(machine: Machine, node: cst.Assert) -> bool:
    test = expressions.evaluate(machine, node.test)
    message = None
    if node.msg is not None:
        with machine.path(muted=True):
            message = expressions.evaluate(machine, node.msg)
    machine.emit(Assert, node, test=test, message=message, backward=any(map(_is_backward, machine.frames)))
    if not may_be_tensor(test):
        expressions.truth(machine, node.test, test, "assert", node)
    conditions.narrow(machine, node.test, positive=True)
    return True


def _is_backward(frame: Frame) -> bool:
    """Whether ``frame`` is a call of the backward of an ``autograd.Function``."""
    info = frame.function
    if info is None or info.name != "backward" or info.owner is None:
        return False
    return info.owner.derives("torch.autograd.Function", "torch.autograd.function.Function")


def _break(machine: Machine, _node: cst.BaseSmallStatement) -> bool:
    machine.frame.exits.append(machine.snapshot())
    return False


def _del(machine: Machine, node: cst.Del) -> bool:
    target = node.target
    for item in [e.value for e in target.elements] if isinstance(target, (cst.Tuple, cst.List)) else [target]:
        if type(item) is cst.Name:
            machine.frame.scope.names.pop(item.value, None)
        elif type(item) is cst.Subscript:
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


SIMPLE: dict[type, Callable[[Machine, Any], bool]] = {
    cst.Expr: _expr, cst.Assign: _assign, cst.AnnAssign: _annotated, cst.AugAssign: _augmented, cst.Return: _return,
    cst.Raise: _raise, cst.Assert: _assert, cst.Break: _break, cst.Continue: _break, cst.Del: _del,
    cst.Global: _outer, cst.Nonlocal: _outer, cst.Import: _import, cst.ImportFrom: _import,
}  # fmt: skip
