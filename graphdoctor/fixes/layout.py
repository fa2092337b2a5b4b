"""How code of several lines stands in the file."""

from __future__ import annotations

import libcst as cst

from graphdoctor.source.walk import walk


def behind(indent: str, expression: str, newline: str) -> str:
    """``expression`` with all lines but the first behind ``indent``; as it is where that would change a string in it.

    ``Editor.code`` gives the lines of an expression as if its block stood at the margin.
    """
    if newline not in expression:
        return expression
    module = cst.Module([], default_newline=newline)
    nodes = walk(cst.parse_expression(expression))
    strings = (module.code_for_node(n) for n in nodes if isinstance(n, (cst.SimpleString, cst.FormattedString)))
    if any(newline in string for string in strings):
        return expression
    first, *further = expression.split(newline)
    return newline.join([first, *(indent + line if line.strip() else line for line in further)])
