"""Parentheses around what stands alone, which nobody would write."""

from __future__ import annotations

import libcst as cst

#: Nodes that need their parentheses, or mean something else without them.
_NEEDS = (cst.Tuple, cst.NamedExpr, cst.Yield, cst.GeneratorExp, cst.Await)


def without_needless(text: str, node: cst.CSTNode, parent: cst.CSTNode | None) -> str:
    """``text`` that comes in the place of ``node``: without parentheses around it where it is all of a value."""
    if not (text.startswith("(") and text.endswith(")")) or "\n" in text or "\r" in text or not is_alone(node, parent):
        return text
    try:
        value = cst.parse_expression(text)
    except cst.ParserSyntaxError:
        return text
    if len(value.lpar) != 1 or isinstance(value, _NEEDS):
        return text
    return text[1:-1].strip()


def is_alone(node: cst.CSTNode, parent: cst.CSTNode | None) -> bool:
    """Whether ``node`` is all of a value or an argument, where any operator means what it means in parentheses."""
    if isinstance(parent, cst.Arg):
        return not parent.star
    return isinstance(parent, (cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Return)) and parent.value is node
