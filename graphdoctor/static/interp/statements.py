"""Statements: how names and paths evolve. Each function returns True when control can go on behind the statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from graphdoctor.static.domain import torch_tables
from graphdoctor.static.domain.events import Assert, Import, Subscript
from graphdoctor.static.domain.frames import Frame
from graphdoctor.static.domain.value_functions import join, may_be_tensor, options
from graphdoctor.static.domain.values import UNKNOWN, Const, Mapping, OneOf, Seq, Tensor, Value
from graphdoctor.static.interp import (
    assignments,
    attributes,
    compound_statements,
    conditions,
    definitions,
    expressions,
    imports,
    subscripts,
)
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.interp.operators import arithmetic


def run_block(interpreter: Interpreter, block: cst.BaseSuite) -> bool:
    """Interpret a suite. False when every path returns, raises, breaks or continues."""
    return run_statements(interpreter, block.body)


def run_statements(interpreter: Interpreter, body: Sequence[Any]) -> bool:
    """Interpret statements in order."""
    frame = interpreter.frame
    saved = frame.statement
    try:
        for statement in body:
            graph_ends = interpreter.graph_ends
            kind = type(statement)
            if kind is cst.SimpleStatementLine:
                frame.statement = statement
                interpreter.note_seen(statement)
                for small in statement.body:
                    if not _simple(interpreter, small):
                        return False
            elif kind in compound_statements.COMPOUND:
                frame.statement = statement
                interpreter.note_seen(statement)
                if not compound_statements.COMPOUND[kind](interpreter, statement):
                    return False
            elif not _simple(interpreter, statement):
                return False
            if interpreter.graph_ends != graph_ends:
                interpreter.continue_in_new_graph(after=statement)
        return True
    finally:
        frame.statement = saved


def _simple(interpreter: Interpreter, node: Any) -> bool:
    handler = SIMPLE.get(type(node))
    return True if handler is None else handler(interpreter, node)


def _expr(interpreter: Interpreter, node: cst.Expr) -> bool:
    if type(node.value) in (cst.SimpleString, cst.ConcatenatedString):
        return True
    interpreter.unused = node.value
    expressions.evaluate(interpreter, node.value)
    return True


def _assign(interpreter: Interpreter, node: cst.Assign) -> bool:
    unpacked = node.targets[0].target
    if (
        type(node.value) is cst.Tuple
        and type(unpacked) is cst.Tuple
        and (_stars(unpacked), _stars(node.value)) == (0, 1)
    ):
        # As many items as there are targets: ``a, b, c = x, *pair``.
        value = expressions.display(interpreter, node.value, len(unpacked.elements))
    else:
        value = expressions.evaluate(interpreter, node.value)
    for target in node.targets:
        assignments.assign(interpreter, target.target, value)
        assignments.count_dimensions(interpreter, target.target, node.value)
    return True


def _stars(node: cst.Tuple) -> int:
    return sum(type(element) is cst.StarredElement for element in node.elements)


def _annotated(interpreter: Interpreter, node: cst.AnnAssign) -> bool:
    if node.value is not None:
        value = expressions.evaluate(interpreter, node.value)
        if value is UNKNOWN or type(value) is OneOf:
            value = _declared(value, definitions.annotation(interpreter, node.annotation.annotation))
        assignments.assign(interpreter, node.target, value)
    elif interpreter.frame.scope.kind == "class" and type(node.target) is cst.Name:
        interpreter.frame.scope.names.setdefault(node.target.value, UNKNOWN)
    return True


def _declared(value: Value, declared: Value) -> Value:
    """``value`` as its annotation says: a tensor, where a helper gives arrays to other callers."""
    if value is UNKNOWN:
        return declared
    if not isinstance(declared, Tensor) or declared.numpy:
        return value
    kept = [option for option in options(value) if not (isinstance(option, Tensor) and option.numpy)]
    return join(*kept) if kept else value


def _augmented(interpreter: Interpreter, node: cst.AugAssign) -> bool:
    operator = type(node.operator).__name__.removesuffix("Assign")
    if type(node.target) is cst.Subscript:
        receiver = expressions.evaluate(interpreter, node.target.value)
        index = expressions.index_values(interpreter, node.target)
        value = expressions.evaluate(interpreter, node.value)
        if may_be_tensor(receiver):
            interpreter.emit(Subscript, node.target, receiver=receiver, index=index, mode="augment")
        elif any(isinstance(option, (Mapping, Seq)) for option in options(receiver)):
            before = subscripts.read_item(interpreter, node.target, receiver, index)
            after = arithmetic.binary(interpreter, node, operator, before, value)
            assignments.store_item(interpreter, node.target, receiver, index, after, augmented=True)
        return True
    before = expressions.evaluate(interpreter, node.target)
    value = expressions.evaluate(interpreter, node.value)
    after = arithmetic.binary(interpreter, node, operator, before, value)
    if isinstance(before, Tensor) and before.owned:
        # A parameter or buffer is changed in place.
        after = before
    if type(node.target) is cst.Attribute:
        attributes.write_attribute(
            interpreter, node.target, expressions.evaluate(interpreter, node.target.value), after, augmented=True
        )
    else:
        assignments.assign(interpreter, node.target, after, augmented=True)
    return True


def _return(interpreter: Interpreter, node: cst.Return) -> bool:
    interpreter.frame.returns.append(
        expressions.evaluate(interpreter, node.value) if node.value is not None else Const(None)
    )
    return False


def _raise(interpreter: Interpreter, node: cst.Raise) -> bool:
    # The error path: its message may read tensor data, but a trace gets here only when the program fails.
    if node.exc is not None:
        made = node.exc.func if type(node.exc) is cst.Call else node.exc
        with interpreter.path(muted=True):
            compound_statements.fail(interpreter, expressions.evaluate(interpreter, made))
    return False


def _assert(interpreter: Interpreter, node: cst.Assert) -> bool:
    test = expressions.evaluate(interpreter, node.test)
    message = None
    if node.msg is not None:
        with interpreter.path(muted=True):
            message = expressions.evaluate(interpreter, node.msg)
    interpreter.emit(Assert, node, test=test, message=message, backward=any(map(_is_backward, interpreter.frames)))
    if not may_be_tensor(test):
        expressions.truth(interpreter, node.test, test, "assert", node)
    conditions.narrow(interpreter, node.test, positive=True)
    return True


def _is_backward(frame: Frame) -> bool:
    """Whether ``frame`` is a call of the backward of an ``autograd.Function``."""
    info = frame.function
    if info is None or info.name != "backward" or info.owner is None:
        return False
    return info.owner.derives(*torch_tables.AUTOGRAD_FUNCTION)


def _break(interpreter: Interpreter, _node: cst.BaseSmallStatement) -> bool:
    interpreter.frame.exits.append(interpreter.snapshot())
    return False


def _del(interpreter: Interpreter, node: cst.Del) -> bool:
    target = node.target
    for item in [e.value for e in target.elements] if isinstance(target, (cst.Tuple, cst.List)) else [target]:
        if type(item) is cst.Name:
            interpreter.frame.scope.names.pop(item.value, None)
        elif type(item) is cst.Subscript:
            receiver = expressions.evaluate(interpreter, item.value)
            index = expressions.index_values(interpreter, item)
            interpreter.emit(Subscript, item, receiver=receiver, index=index, mode="delete")
    return True


def _outer(interpreter: Interpreter, node: cst.Global | cst.Nonlocal) -> bool:
    interpreter.frame.scope.outer.update(item.name.value for item in node.names)
    return True


def _import(interpreter: Interpreter, node: cst.Import | cst.ImportFrom) -> bool:
    if interpreter.frame.function is not None:
        names = imports.import_names(interpreter, node)
        # Where no handler goes on without the module, it is installed wherever the code runs.
        optional = interpreter.frame.recovers and not imports.is_present(interpreter, node)
        interpreter.emit(Import, node, names=names, optional=optional)
    imports.execute_import(interpreter, node)
    return True


SIMPLE: dict[type, Callable[[Interpreter, Any], bool]] = {
    cst.Expr: _expr, cst.Assign: _assign, cst.AnnAssign: _annotated, cst.AugAssign: _augmented, cst.Return: _return,
    cst.Raise: _raise, cst.Assert: _assert, cst.Break: _break, cst.Continue: _break, cst.Del: _del,
    cst.Global: _outer, cst.Nonlocal: _outer, cst.Import: _import, cst.ImportFrom: _import,
}  # fmt: skip
