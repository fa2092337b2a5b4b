"""A package's own ``is_compiling()``: it asks torch, and says False for versions of torch that cannot be asked."""

from __future__ import annotations

import libcst as cst

from graphdoctor.static.domain import torch_tables
from graphdoctor.static.domain.program import FunctionInfo
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Const, Value
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.syntax.walk import walk


def says_compiling(interpreter: Interpreter, info: FunctionInfo, results: list[Value]) -> bool:
    """Whether a function that gave one of ``results`` in compiled code is such a helper, and so gives True there."""
    found = {option for result in results for option in options(result)}
    if found != {Const(True), Const(False)} or not isinstance(info.node, cst.FunctionDef) or info.node.params.params:
        return False
    nodes = list(walk(info.body))
    asks = any(torch_tables.COMPILE_TIME.get(interpreter.callees.get(id(node), "")) is True for node in nodes)
    return asks and not any(type(node) is cst.Not for node in nodes)
