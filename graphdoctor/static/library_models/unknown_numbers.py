"""Numbers that have no value in the trace: read from tensor data, or drawn by Python's ``random`` in compiled code.

Dynamo makes inputs of the graph of drawn numbers, and treats them as tensors: ``x * t`` and ``t < 1`` are traced, and
an operation that needs the number itself ends the graph. After that, it is a plain number.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.static.domain.events import NeedDrawn
from graphdoctor.static.domain.value_functions import is_drawn, may_be_drawn, options, tensor_of, with_drawn_read
from graphdoctor.static.domain.values import Const, PythonValue, Seq, Value
from graphdoctor.static.interp.interpreter import Interpreter

#: Functions of ``random`` that Dynamo traces (torch 2.13, torch/_dynamo/variables/functions.py), with what they give.
_KINDS = {"randint": "int", "randrange": "int", "uniform": "float"}
_NUMBERS = ("int", "float", "bool", "number")


def number_of(interpreter: Interpreter, value: Value, kind: str) -> PythonValue:
    """The number that ``item``, ``int`` or the like reads from the tensor ``value``.

    Flags, which have two values at most, and numbers of numpy, which end the graph anyway, are not marked.
    """
    tensor = tensor_of(value)
    symbol = interpreter.frame.compiled and tensor is not None and not tensor.numpy and not tensor.constant
    return PythonValue(kind, data_dependent=symbol and kind in ("int", "float", "number"))


def draw(
    interpreter: Interpreter, node: cst.CSTNode, name: str, args: tuple[Value, ...], generator: bool = False
) -> PythonValue:
    """The result of ``random.<name>(*args)``, or of the method of a ``generator``, whose ``random()`` is traced too."""
    for value in args:
        need(interpreter, node, value)
    if name in _KINDS or (generator and name == "random"):
        interpreter.call_cache.has_drawn |= interpreter.frame.compiled
        return PythonValue(_KINDS.get(name, "float"), drawn=interpreter.frame.compiled)
    return PythonValue("float" if name in ("random", "gauss") else "object")


def need(interpreter: Interpreter, node: cst.CSTNode, value: Value) -> Value:
    """Emit ``NeedDrawn`` where ``value``, which ``node`` needs, is a drawn number. Returns it as a plain number."""
    if not may_be_drawn(value):
        return value
    interpreter.emit(NeedDrawn, node, sure=is_drawn(value))
    interpreter.read_drawn_numbers()
    return with_drawn_read(value)


def need_in_arithmetic(interpreter: Interpreter, node: cst.CSTNode, left: Value, right: Value) -> None:
    """Emit ``NeedDrawn`` for an operator between a drawn number and a value that is surely no tensor."""
    if (may_be_drawn(left) and _is_plain(right)) or (may_be_drawn(right) and _is_plain(left)):
        need(interpreter, node, left if may_be_drawn(left) else right)


def need_in_comparison(interpreter: Interpreter, node: cst.CSTNode, operator: str, left: Value, right: Value) -> None:
    """Emit ``NeedDrawn`` where a drawn number is compared with another, or looked for in a container."""
    if is_drawn(left) and (operator in ("In", "NotIn") or is_drawn(right)):
        need(interpreter, node, left)


def decide(interpreter: Interpreter, node: cst.CSTNode, value: Value) -> None:
    """Emit ``NeedDrawn`` for a drawn number that decides which way to go."""
    interpreter.emit(NeedDrawn, node, sure=is_drawn(value), decides=True)
    interpreter.read_drawn_numbers()


def after_test(value: Value, test: Value) -> Value:
    """``value`` after the truth of ``test`` was asked, which ends the graph where a drawn number decides it."""
    return with_drawn_read(value) if may_be_drawn(test) else value


def _is_plain(value: Value) -> bool:
    return all(
        isinstance(option, (Const, Seq)) or (type(option) is PythonValue and option.kind in _NUMBERS)
        for option in options(value)
    )
