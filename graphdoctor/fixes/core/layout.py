"""How code of several lines stands in the file."""

from __future__ import annotations

import io
import tokenize

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.syntax.walk import walk

_LAYOUT = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENDMARKER)


def indented(indent: str, expression: str, newline: str) -> str:
    """``expression`` with all lines but the first after ``indent``; as it is where that would change a string in it.

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


def on_one_line(node: cst.CSTNode, editor: Editor) -> str:
    """The code of ``node`` without its line ends and comments; what is in its texts stays as it is.

    Raises Refuse where it does not fit.
    """
    code = editor.code(node)
    if editor.newline not in code:
        return code
    text = ""
    row, column = 1, 1
    for token in tokenize.generate_tokens(io.StringIO(f"({code}\n)").readline):
        if token.type in _LAYOUT:
            continue
        if "\n" in token.string or "\r" in token.string:
            raise Refuse("a string of several lines would be moved")
        apart = token.start[0] != row or token.start[1] > column
        text += (
            " " if apart and text[-1:] not in ("", "(", "[", "{") and token.string not in ")]}" else ""
        ) + token.string
        row, column = token.end
    return text[1:-1]
