"""Warnings and errors that are told behind a test, and whether they are to be expected there. Not a rule."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from graphdoctor.fixes.analysis.conditions import conjuncts
from graphdoctor.fixes.analysis.purity import called, calls
from graphdoctor.model.findings import Confidence
from graphdoctor.static.domain.events import Call
from graphdoctor.syntax.walk import find, walk

from ._shared import certainty, function_named

#: Functions and methods that tell of what should not be.
_TOLD = frozenset({
    "warn", "warning", "warning_once", "warn_explicit", "rank_zero_warn", "error", "exception", "critical",
})  # fmt: skip

#: What a message is made with.
_TEXTS = frozenset({"format", "join", "str", "repr", "len", "type", "list", "set", "sorted", "getattr", "hasattr"})


def certainty_of_message(event: Call) -> Confidence:
    """As ``certainty``, but nothing shows that a warning or error behind a test is told: it says what should not be.

    It is to be expected where declared inputs or the defaults of arguments lead there (``if mask is None:``), and where
    the block also does the work of a case (``if padding > 0:`` warns and pads).
    """
    is_shown = event.site.has_sample or not event.site.conditional
    if is_shown or event.qualname.rpartition(".")[2] not in _TOLD:
        return certainty(event)
    function = function_named(event)
    is_expected = function is not None and (
        _is_met_by_defaults(event, function) or _stands_beside_work(event, function)
    )
    return certainty(event) if is_expected else "possible"


def _is_met_by_defaults(event: Call, function: cst.FunctionDef) -> bool:
    """Whether ``event`` is only behind tests that are true where arguments have their defaults."""
    params = [*function.params.params, *function.params.kwonly_params]
    defaults = {p.name.value: p.default.value for p in params if isinstance(p.default, cst.Name)}
    around = [branch for branch in find(function.body, cst.If) if _holds(branch.body, event)]
    return bool(around) and all(any(_is_met(part, defaults) for part in conjuncts(b.test)) for b in around)


def _is_met(test: cst.BaseExpression, defaults: Mapping[str, str]) -> bool:
    """``mask is None``, ``flag`` or ``not flag`` of an argument whose default is None, True or False."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return isinstance(test.expression, cst.Name) and defaults.get(test.expression.value) in ("False", "None")
    if isinstance(test, cst.Name):
        return defaults.get(test.value) == "True"
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1 or not isinstance(test.left, cst.Name):
        return False
    (part,) = test.comparisons
    is_none = isinstance(part.comparator, cst.Name) and part.comparator.value == "None"
    return is_none and isinstance(part.operator, cst.Is) and defaults.get(test.left.value) == "None"


def _stands_beside_work(event: Call, function: cst.FunctionDef) -> bool:
    """Whether the innermost block around ``event`` also computes something that is no message."""
    *_, block = (each for each in find(function.body, cst.IndentedBlock) if _holds(each, event))
    return any(_computes(statement) for statement in block.body if not _holds(statement, event))


def _computes(statement: cst.CSTNode) -> bool:
    """Whether ``statement`` calls what makes no message, or stores a part or a sum: ``ids = ids[:, :limit]``."""
    stored = (assign.value for assign in find(statement, cst.Assign))
    if any(isinstance(value, (cst.Subscript, cst.BinaryOperation)) for value in stored):
        return True
    return any(called(call) not in _TOLD | _TEXTS for call in calls(statement))


def _holds(block: cst.CSTNode, event: Call) -> bool:
    return any(node is event.node for node in walk(block))
