"""What compiled code does with a number that changes, which decides whether a tensor can take its place. Not a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.syntax.walk import walk

#: "beside" is one of several indices, ``cache[:, n]``, "argument" of a call that may need a number.
NumberUse = Literal["decides", "loop", "beside", "index", "math", "argument", "computes"]

#: What counts first where a number is used in several ways.
_ORDER: tuple[NumberUse, ...] = ("decides", "loop", "beside", "index", "math", "argument", "computes")
#: Functions that take a tensor for a number.
_COMPUTE = frozenset((
    "abs", "add", "clamp", "div", "lerp", "max", "maximum", "min", "minimum", "mul", "pow", "sub", "tensor", "where",
))  # fmt: skip

#: What helps where a tensor in place of the number does not.
INSTEAD: dict[NumberUse, str] = {
    "decides": "pass the result of the test, a bool, in place of the number: a tensor would break the graph there",
    "loop": "compile the body in place of the loop: a tensor would break the graph there",
    "beside": "write a slice, `i:i + 1`, or `.select(dim, i)`, or pass a tensor with one element: with a 0-d tensor "
    "each value compiles again too",
    "index": "leave it a number: with a 0-d tensor as the index each value would compile again",
    "math": "pass it as a 0-d tensor, and compute with `torch` in place of `math`, which would break the graph",
    "argument": "pass it as a 0-d tensor if the code only computes with it; leave a size, a count or an index a number",
}
#: What each value costs.
EACH_VALUE: dict[NumberUse, str] = {
    "loop": "each value compiles again, because the loop is unrolled",
    "beside": "each value compiles again, because it is one of several indices",
}


def use_of(bodies: Iterable[cst.CSTNode], is_number: Callable[[cst.CSTNode], bool]) -> NumberUse:
    """What ``bodies`` do with the expressions of which ``is_number`` is true."""
    found = {use for body in bodies for node in walk(body) if (use := _use(node, is_number)) is not None}
    return next((use for use in _ORDER if use in found), "computes")


def _use(node: cst.CSTNode, is_number: Callable[[cst.CSTNode], bool]) -> NumberUse | None:
    kind = type(node)
    if kind is cst.If or kind is cst.IfExp or kind is cst.While:
        return "decides" if _has(node.test, is_number) else None  # type: ignore[attr-defined]
    if isinstance(node, cst.Subscript):
        indices = [element.slice for element in node.slice if isinstance(element.slice, cst.Index)]
        if any(_has(index, is_number) for index in indices):
            return "beside" if len(node.slice) > 1 else "index"
    if isinstance(node, cst.Call) and called(node) not in _COMPUTE and any(_has(arg, is_number) for arg in node.args):
        return "loop" if called(node) == "range" else "math" if _is_of_math(node.func) else "argument"
    return None


def _is_of_math(function: cst.BaseExpression) -> bool:
    owner = function.value if isinstance(function, cst.Attribute) else None
    return isinstance(owner, cst.Name) and owner.value == "math"


def _has(node: cst.CSTNode, is_number: Callable[[cst.CSTNode], bool]) -> bool:
    return any(map(is_number, walk(node)))
