"""The fake implementation of a custom operator whose own code consists of operators of torch."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.purity import calls, is_pure
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.scope import parameters
from graphdoctor.model.findings import Edit
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

_REASON = (
    "The expression that the operator returns is also its fake implementation: it gives the shape, dtype and device of "
    "the result without the data."
)


def fake_of_operators(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``return x * 2`` of an operator becomes ``double.register_fake(lambda x: x * 2)`` after it.

    ``hit.data`` is the name of the operator in this file.
    """
    decorated = (node for node in editor.every(cst.FunctionDef) if node.name.value == hit.data and node.decorators)
    function = next((node for node in decorated if isinstance(editor.parent(node), cst.Module)), None)
    if function is None:
        return Refusal("The operator does not stand at the top level of this file.")
    returned = _returned(function)
    if returned is None:
        return Refusal("The operator does more than return one expression, so its result has to be described by hand.")
    known = {*parameters(function), *editor.torch_names, "torch", "True", "False", "None"}
    read = {n.value for n in walk(returned) if isinstance(n, cst.Name) and not editor.is_label(n)}
    # What a tensor is indexed with may be a mask, whose selection has no shape without the data.
    selects = any(isinstance(n, cst.Subscript) for n in walk(returned))
    if selects or read - known or not all(is_pure(call, editor) for call in calls(returned)):
        return Refusal("The operator calls more than operators of torch, so its result has to be described by hand.")
    given = ", ".join(n if d is None else f"{n}={editor.code(d)}" for n, d in parameters(function).items())
    text = f"{function.name.value}.register_fake(lambda {given}: {editor.code(returned)})"
    place, newline = editor.location(function), editor.newline
    # After a comment on the last line, if another line follows.
    if editor.module.text.count(newline) >= place.end_line:
        edit = Edit(editor.path, (place.end_line + 1, 1), (place.end_line + 1, 1), newline * 2 + text + newline)
    else:
        edit = Edit(
            editor.path, (place.end_line, place.end_column), (place.end_line, place.end_column), newline * 3 + text
        )
    return FixPlan((edit,), "unsafe", _REASON)


def _returned(function: cst.FunctionDef) -> cst.BaseExpression | None:
    """What a function returns that does nothing else, apart from its docstring."""
    lines = [line for line in function.body.body if isinstance(line, cst.SimpleStatementLine)]
    statements = [small for line in lines for small in line.body]
    if len(lines) != len(function.body.body):
        return None
    if len(statements) > 1 and function.get_docstring() is not None:
        statements = statements[1:]
    only = statements[0] if len(statements) == 1 else None
    return only.value if isinstance(only, cst.Return) else None
