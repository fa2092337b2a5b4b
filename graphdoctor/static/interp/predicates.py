"""Predicates: helpers whose body is one test, ``def exists(value): return value is not None``.

Where a call of one is the test of a branch, it narrows its argument as the test itself would. Also tests that the
default of an option answers, and those that ask for the mode.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.static.domain import torch_tables
from graphdoctor.static.domain.frames import Frame
from graphdoctor.static.domain.program import FunctionInfo, Scope
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import ChosenBy, Const, Function, Instance, OneOf, PythonValue, Unknown, Value
from graphdoctor.static.interp import conditions, expressions
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.syntax.walk import walk


def narrow(interpreter: Interpreter, helper: Function, argument: cst.BaseExpression, positive: bool) -> None:
    """Refine ``argument``, a name or an attribute, to the values for which ``helper(argument)`` is ``positive``."""
    test, name = question(helper), conditions.dotted(argument)
    if test is None or name is None or len(interpreter.frames) > interpreter.MAX_DEPTH:
        return
    value = expressions.evaluate(interpreter, argument)
    if isinstance(value, Unknown):
        return
    info, parameter = helper.info, helper.info.node.params.params[0].name.value
    scope = Scope("function", {parameter: value}, helper.cells)
    with interpreter.call(Frame(info, info.module, scope, info.node, muted=True)):
        conditions.narrow(interpreter, test, positive)
        narrowed = interpreter.frame.scope.names[parameter]
    if narrowed is not value:
        conditions.note(interpreter, name, narrowed)


def question(helper: Function) -> cst.BaseExpression | None:
    """The expression that a function of one argument returns, where it does nothing else."""
    node = helper.info.node
    params = node.params
    if helper.bound is not None or len(params.params) != 1 or params.star_kwarg or params.kwonly_params:
        return None
    if isinstance(node, cst.Lambda):
        return node.body
    if node.decorators:
        return None
    body = helper.info.body
    lines = body.body if isinstance(body, cst.IndentedBlock) else ()
    lines = [line for line in lines if not _is_docstring(line)]
    if len(lines) != 1 or not isinstance(lines[0], cst.SimpleStatementLine):
        return None
    statement = lines[0].body[0]
    return statement.value if isinstance(statement, cst.Return) else None


def _is_docstring(statement: cst.BaseStatement) -> bool:
    inner = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    return isinstance(inner, cst.Expr) and isinstance(inner.value, (cst.SimpleString, cst.ConcatenatedString))


def says_compiling(interpreter: Interpreter, info: FunctionInfo, results: list[Value]) -> bool:
    """Whether a function with these ``results`` in compiled code is a package's own ``is_compiling()``.

    Such a function asks torch, and returns False for versions of torch that cannot tell: compiled code gets True.
    """
    found = {option for result in results for option in options(result)}
    if found != {Const(True), Const(False)} or not isinstance(info.node, cst.FunctionDef) or info.node.params.params:
        return False
    nodes = list(walk(info.body))
    asks = any(torch_tables.COMPILE_TIME.get(interpreter.callees.get(id(node), "")) is True for node in nodes)
    return asks and not any(type(node) is cst.Not for node in nodes)


def asks_for_kind(test: cst.BaseExpression) -> bool:
    """Whether ``test`` tests the kind of an object: ``isinstance(x, T)``, ``x is None``, ``is_sparse(x)``."""
    if isinstance(test, cst.UnaryOperation):
        return asks_for_kind(test.expression)
    if isinstance(test, cst.BooleanOperation):
        return asks_for_kind(test.left) or asks_for_kind(test.right)
    if isinstance(test, cst.Call):
        name = test.func.attr if isinstance(test.func, cst.Attribute) else test.func
        return isinstance(name, cst.Name) and name.value.startswith(("is", "hasattr"))
    compared = test.comparisons if isinstance(test, cst.Comparison) else ()
    return bool(compared) and all(isinstance(part.operator, (cst.Is, cst.IsNot)) for part in compared)


def is_met_by_default(interpreter: Interpreter, test: cst.BaseExpression, is_and: bool) -> bool:
    """Whether ``test`` is a flag, or asks for a mode, whose default lets the next operand run: ``not final and ...``,
    ``self.plain or ...``, ``self.reduction == "mean" and ...``.
    """
    met = is_and
    while type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        test, met = test.expression, not met
    function = interpreter.frame.function
    if function is None:
        return False
    if type(test) is cst.Name:
        default = function.defaults.get(test.value)
        return isinstance(default, Const) and default.value is met
    if type(test) is cst.Attribute and type(test.value) is cst.Name:
        default = _default_of_flag(interpreter.frame.scope.find(test.value.value), test.attr.value)
        return isinstance(default, Const) and default.value is met
    if type(test) is not cst.Comparison or len(test.comparisons) != 1:
        return False
    part = test.comparisons[0]
    if type(part.operator) is not (cst.Equal if met else cst.NotEqual) or type(part.comparator) is not cst.SimpleString:
        return False
    named: Value | None = None
    if type(test.left) is cst.Name:
        passed = interpreter.frame.scope.find(test.left.value)
        named = passed if type(passed) is OneOf else function.defaults.get(test.left.value)
    elif type(test.left) is cst.Attribute and type(test.left.value) is cst.Name:
        owner = interpreter.frame.scope.find(test.left.value.value)
        named = owner.attrs.get(test.left.attr.value) if isinstance(owner, Instance) else None
    # A mode that users may choose begins with its default.
    default = options(named)[0] if named is not None else None
    return isinstance(default, Const) and default.value == part.comparator.evaluated_value


def _default_of_flag(owner: Value | None, name: str) -> Value | None:
    """The default of the argument of this name that the constructor of ``owner`` takes, where it may be either flag."""
    held = owner.attrs.get(name) if isinstance(owner, Instance) else None
    init = owner.info.lookup("__init__") if isinstance(owner, Instance) else None
    is_open = isinstance(held, PythonValue) and held.kind == "bool"
    return init.info.defaults.get(name) if is_open and isinstance(init, Function) else None


def asked_mode(test: cst.BaseExpression) -> bool | None:
    """The mode for which ``test`` is true: True for ``self.training``, False for ``not self.training``, else None."""
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        mode = asked_mode(test.expression)
        return None if mode is None else not mode
    is_mode = (
        type(test) is cst.Attribute and test.attr.value == "training" and conditions.dotted(test) == "self.training"
    )
    return True if is_mode else None


def chosen_by_mode(test: cst.BaseExpression) -> ChosenBy:
    """ "mode" where ``test`` is ``self.training`` or its opposite, alone or beside other conditions, else ""."""
    if type(test) is cst.BooleanOperation:
        return chosen_by_mode(test.left) or chosen_by_mode(test.right)
    return "" if asked_mode(test) is None else "mode"
