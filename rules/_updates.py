"""Functions that only take the steps of optimizers, which torch's guide has users compile. Not a rule."""

from __future__ import annotations

import libcst as cst

from graphdoctor.static.domain.events import Call
from graphdoctor.syntax.walk import find

from ._shared import function_named


def is_update(event: Call) -> bool:
    """Whether a call stands in a function that only takes steps, or is the step that is compiled itself."""
    if event.site.assumed:
        return False
    if event.site.entering:
        return event.qualname.endswith(".step")
    function = function_named(event)
    if function is None:
        lambdas = find(event.site.module.top, cst.Lambda)
        return event.qualname.endswith(".step") and any(each.body is event.node for each in lambdas)
    lines = function.body.body if isinstance(function.body, cst.IndentedBlock) else (function.body,)
    simple = (cst.SimpleStatementLine, cst.SimpleStatementSuite)
    return all(isinstance(line, simple) and all(map(_is_step_or_text, line.body)) for line in lines)


def _is_step_or_text(statement: cst.BaseSmallStatement) -> bool:
    value = statement.value if isinstance(statement, cst.Expr) else None
    if isinstance(value, cst.Call):
        return isinstance(value.func, cst.Attribute) and value.func.attr.value == "step"
    return isinstance(value, cst.BaseString)
