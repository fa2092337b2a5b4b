"""Models of pydantic: making one runs the validators of its class, each on a field that is passed.

They are called by code that is not Python, so Dynamo compiles them as separate functions.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.static.domain.values import UNKNOWN, Class, Function, Instance
from graphdoctor.static.interp import calls, definitions
from graphdoctor.static.interp.interpreter import Interpreter

#: Decorators of validators: those of fields, which get the names of the fields, and those of the whole model.
_OF_FIELDS = frozenset({"field_validator", "validator"})
_OF_MODEL = "model_validator"


def validate(interpreter: Interpreter, node: cst.CSTNode, made: Instance, passed: list[str]) -> None:
    """Run the validators of ``made`` on the fields ``passed``. A field gets the result of its validator."""
    validators = list(_validators(made))
    for name in passed:
        for method, fields, _ in validators:
            if name in fields or "*" in fields:
                others = (UNKNOWN,) * (len(definitions.parameters(method.info.node.params)) - 2)
                taken = made.attrs.get(name, UNKNOWN), *others
                made.attrs[name] = calls.call_function(interpreter, node, method.to(Class(made.info)), taken, {})
    for method, fields, mode in validators:
        if not fields and mode == "after" and "classmethod" not in method.info.markers:
            calls.call_function(interpreter, node, method.to(made), (), {})


def _validators(made: Instance) -> Iterator[tuple[Function, list[str], str]]:
    """The validators of a class, each with its fields (none: it validates the model) and its mode.

    Without those of ``mode="wrap"``, which decide themselves whether other validators run.
    """
    info = made.info
    for name in dict.fromkeys(name for known in reversed(info.mro) for name in known.attrs):
        method = info.lookup(name)
        if not isinstance(method, Function) or isinstance(method.info.node, cst.Lambda):
            continue
        for call in (decorator.decorator for decorator in method.info.node.decorators):
            if isinstance(call, cst.Call) and _called(call.func) in {*_OF_FIELDS, _OF_MODEL}:
                fields = [_text(arg.value) for arg in call.args if arg.keyword is None]
                mode = next(
                    (_text(arg.value) for arg in call.args if arg.keyword and arg.keyword.value == "mode"), "after"
                )
                if mode != "wrap":
                    yield method, fields, mode


def _called(func: cst.BaseExpression) -> str:
    """The last part of the name of a decorator."""
    name = func.attr if isinstance(func, cst.Attribute) else func
    return name.value if isinstance(name, cst.Name) else ""


def _text(node: cst.BaseExpression) -> str:
    value = node.evaluated_value if isinstance(node, cst.SimpleString) else ""
    return value if isinstance(value, str) else ""
