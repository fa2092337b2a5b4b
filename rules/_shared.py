"""What several rules share: the words of a message, and how sure it is. Not a rule."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from itertools import accumulate

import libcst as cst

from graphdoctor.model import Confidence
from graphdoctor.static.events import Event, Truth
from graphdoctor.static.values import Tensor, Value, options


def code(event: Event, node: cst.CSTNode | None = None, limit: int = 60) -> str:
    """The source of ``node`` (by default the event's) on one line, cut to ``limit`` characters, in backticks."""
    text = " ".join(event.site.module.code(node if node is not None else event.node).split())
    return f"`{text}`" if len(text) <= limit else f"`{text[: limit - 3]}...`"


def consequence(event: Event) -> str:
    """What a break at ``event`` costs, as the end of a sentence."""
    function = event.site.function or "this code"
    if event.site.whole_frame:
        whole = event.site.whole_frame
        return f"`{whole}` runs uncompiled as a whole, because Dynamo cannot split its loop, try or with block"
    return f"this splits the graph; the rest of `{function}` is compiled separately"


def certainty(event: Event, value: Value | None = None) -> Confidence:
    """``certain`` when the line is reached by every trace and ``value`` is known to be tensor data, else ``likely``."""
    known = value is None or all(isinstance(o, Tensor) and o.sure for o in options(value))
    return "certain" if known and not event.site.conditional else "likely"


def within(qualname: str, names: Collection[str]) -> bool:
    """True when ``qualname`` or one of the packages it lies in is among ``names``."""
    return any(map(names.__contains__, _around(qualname)))


@cache
def _around(qualname: str) -> tuple[str, ...]:
    """``qualname`` and the packages it lies in."""
    return tuple(accumulate(qualname.split("."), "{}.{}".format))


def asks_training(test: cst.BaseExpression) -> bool:
    """True for ``self.training and ...`` and ``not self.training or ...``: in training the rest is asked."""
    if not isinstance(test, cst.BooleanOperation):
        return False
    asked: cst.BaseExpression = test.left
    if isinstance(test.operator, cst.Or):
        if not isinstance(asked, cst.UnaryOperation) or not isinstance(asked.operator, cst.Not):
            return False
        asked = asked.expression
    return isinstance(asked, cst.Attribute) and asked.attr.value == "training"


def in_assert(event: Event) -> bool:
    """True when the statement of ``event`` is an ``assert``."""
    statement = event.site.statement
    return isinstance(statement, cst.SimpleStatementLine) and any(isinstance(s, cst.Assert) for s in statement.body)


def only_raises(event: Truth) -> bool:
    """True when ``event`` is the condition of an ``if`` without ``else`` whose body ends in ``raise``."""
    branch = event.branch
    if not isinstance(branch, cst.If):
        branch = event.site.statement
    if not isinstance(branch, cst.If) or event.context not in ("if", "and", "or", "not") or branch.orelse is not None:
        return False
    last = branch.body.body[-1] if branch.body.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    return isinstance(last, cst.Raise)
