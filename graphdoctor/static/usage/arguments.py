"""The arguments of a followed call, by parameter, and whether its result is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import libcst as cst

from graphdoctor.static.usage.events import MISSING, Arguments, Function, Operation, TrackedObject, dotted


def parameters(code: Function) -> tuple[cst.Param, ...]:
    """The positional parameters of a function, without the ``self`` that it is bound to."""
    params = code.node.params
    found = (*params.posonly_params, *params.params)
    return found[1:] if code.bound is not None and "staticmethod" not in code.markers else found


def bound(
    code: Function, passed: Arguments, *, alone: bool, fresh: Callable[[cst.CSTNode], TrackedObject]
) -> dict[str, TrackedObject]:
    """The parameters by name. ``alone``: of those that are not given nothing is known, not even the default.

    ``fresh`` makes an object of which nothing is known yet.
    """
    params, kwargs = code.node.params, passed.kwargs
    names: dict[str, TrackedObject] = {}
    rest = list(passed.args)
    # After ``*args`` of unknown length, no parameter is known to be left out.
    open_end = "*" in kwargs or "**" in kwargs
    for param in (*params.posonly_params, *params.params):
        name = param.name.value
        if rest:
            names[name] = _passed(rest.pop(0))
        elif name in kwargs:
            names[name] = _passed(kwargs[name])
        else:
            names[name] = fresh(param) if alone or open_end else _default(param, fresh)
    for param in params.kwonly_params:
        name = param.name.value
        if name in kwargs:
            names[name] = _passed(kwargs[name])
        else:
            names[name] = fresh(param) if alone or open_end else _default(param, fresh)
    if isinstance(params.star_arg, cst.Param):
        names[params.star_arg.name.value] = replace(fresh(params.star_arg), items=tuple(rest))
    if params.star_kwarg is not None:
        others = {key: value for key, value in kwargs.items() if key not in names and key not in ("*", "**")}
        entries = tuple((TrackedObject(params.star_kwarg, value=key), value) for key, value in others.items())
        names[params.star_kwarg.name.value] = replace(fresh(params.star_kwarg), entries=entries)
    return names


def _passed(tracked: TrackedObject) -> TrackedObject:
    return replace(tracked, passed=True) if tracked.value is not MISSING and not tracked.passed else tracked


def _default(param: cst.Param, fresh: Callable[[cst.CSTNode], TrackedObject]) -> TrackedObject:
    node = param.default
    value = _literal(node) if node is not None else MISSING
    return TrackedObject(node, value=value, passed=True) if node is not None and value is not MISSING else fresh(param)


def _literal(node: cst.BaseExpression) -> object:
    if isinstance(node, (cst.SimpleString, cst.Integer, cst.Float)):
        return node.evaluated_value
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        number = node.expression
        return -number.evaluated_value if isinstance(number, (cst.Integer, cst.Float)) else MISSING
    constants = {"True": True, "False": False, "None": None}
    return constants.get(node.value, MISSING) if isinstance(node, cst.Name) else MISSING


def callback_arguments(step: Operation, function: TrackedObject, wanted: int) -> tuple[TrackedObject, ...]:
    """What a library may pass to a function that it is given, of ``wanted`` parameters.

    ``spawn(f, args=(a, b))``, ``Thread(target=f, args=(a,))``, ``launch(f, (a, b))`` and ``submit(f, a, b)``: what is
    given comes last, after what the library adds.
    """
    passed = step.kwargs.get("args")
    position = next((i for i, arg in enumerate(step.args) if arg is function), None)
    following = step.args[position + 1 :] if position is not None else ()
    items: tuple[TrackedObject, ...] = ()
    if passed is not None:
        items = passed.items
    elif following and following[0].items and len(following[0].items) in (wanted, wanted - 1):
        items = following[0].items
    elif len(following) == wanted:
        items = following
    missing = wanted - len(items)
    return (*(TrackedObject(function.node) for _ in range(missing)), *items) if 0 <= missing <= 1 and items else ()


def is_unused(call: cst.CSTNode, statement: cst.CSTNode) -> bool:
    """Whether a statement discards the result of a call: ``f(x)`` and ``_ = f(x)``."""
    small = statement.body if isinstance(statement, cst.SimpleStatementLine) else ()
    return any(_is_dropped_by(each, call) for each in small)


def _is_dropped_by(small: cst.BaseSmallStatement, call: cst.CSTNode) -> bool:
    if isinstance(small, cst.Assign):
        return small.value is call and all(dotted(each.target) == "_" for each in small.targets)
    return isinstance(small, cst.Expr) and small.value is call
