"""Warnings and errors that are told behind a test, and whether they are to be expected there. Not a rule."""

from __future__ import annotations

from collections.abc import Container

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

    It is to be expected where declared inputs lead there, where an argument is missing that may be left out
    (``if mask is None:``), and where the block also does the work of a case (``if padding > 0:`` warns and pads).
    """
    is_shown = event.site.has_sample or not event.site.conditional
    if is_shown or event.qualname.rpartition(".")[2] not in _TOLD:
        return certainty(event)
    function = function_named(event)
    is_expected = function is not None and (_lacks_optional(event, function) or _stands_beside_work(event, function))
    return certainty(event) if is_expected else "possible"


def _lacks_optional(event: Call, function: cst.FunctionDef) -> bool:
    """Whether ``event`` is only behind tests that find an argument missing which is None by default."""
    params = [*function.params.params, *function.params.kwonly_params]
    optional = {p.name.value for p in params if isinstance(p.default, cst.Name) and p.default.value == "None"}
    around = [branch for branch in find(function.body, cst.If) if _holds(branch.body, event)]
    return bool(around) and all(any(_finds_missing(part, optional) for part in conjuncts(b.test)) for b in around)


def _finds_missing(test: cst.BaseExpression, optional: Container[str]) -> bool:
    """``mask is None`` for one of the names in ``optional``."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1 or not isinstance(test.left, cst.Name):
        return False
    (part,) = test.comparisons
    is_none = isinstance(part.comparator, cst.Name) and part.comparator.value == "None"
    return is_none and isinstance(part.operator, cst.Is) and test.left.value in optional


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
