"""The comparisons of ``sorted``, ``max`` and ``list.sort``: of the elements, or of their keys by ``key=``."""

from __future__ import annotations

import libcst as cst

from graphdoctor.static.domain.events import Truth
from graphdoctor.static.domain.value_functions import join, options, walk
from graphdoctor.static.domain.values import NONE, Tensor, Value
from graphdoctor.static.interp import calls, expressions
from graphdoctor.static.interp.interpreter import Interpreter


def applied(interpreter: Interpreter, node: cst.CSTNode, function: Value, element: Value) -> Value:
    """The result of ``function`` for an element."""
    return join(*(calls.apply(interpreter, node, option, (element,), {}) for option in options(function)))


def compared(interpreter: Interpreter, node: cst.CSTNode, element: Value, kwargs: dict[str, Value]) -> None:
    """Emit ``Truth`` where the elements, or their keys by ``key=``, are tensors that Python compares."""
    key = kwargs.get("key", NONE)
    tensor = _tensor_in(element if key == NONE else applied(interpreter, node, key, element))
    if tensor is None and isinstance(node, cst.Call) and expressions.is_shown(interpreter, node):
        tensor = Tensor()
    if tensor is not None:
        interpreter.emit(Truth, node, value=tensor, context="call", branch=None)


def extreme_by_key(interpreter: Interpreter, node: cst.CSTNode, element: Value, key: Value, of_tensors: bool) -> None:
    """Emit ``Truth`` where ``max`` or ``min`` with ``key=`` compares tensors, or takes one of objects with tensors.

    Up to torch 2.13 a key is for constants alone. Since 2.14 its results are compared.
    """
    tensor = _tensor_in(applied(interpreter, node, key, element))
    if tensor is not None:
        interpreter.emit(Truth, node, value=tensor, context="call", branch=None)
    elif of_tensors or (isinstance(node, cst.Call) and expressions.is_shown(interpreter, node)):
        interpreter.emit(Truth, node, value=_tensor_in(element) or Tensor(), context="call", branch=None, by_key=True)


def _tensor_in(value: Value) -> Tensor | None:
    return next((part for part in walk(value, 1) if isinstance(part, Tensor)), None)
