"""Classes and optional imports inside a function, made once when the file is imported."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import bound_names, names
from graphdoctor.fixes.python.hoist import known_names, top_statement
from graphdoctor.model.findings import Edit
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk


def hoist_definition(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``try: import x`` with a flag, or a class statement, in a function moves above it.

    Raises Refuse where it does not fit.
    """
    statement = _definition(hit.place, editor)
    if statement is None:
        return Refusal("This is neither a class nor a try that holds nothing but imports and flags.")
    top, function = top_statement(statement, editor), editor.function_of(statement)
    if function is None or editor.parent(statement) is not function.body:
        raise Refuse("the statement does not stand in the function itself")
    bound, elsewhere = _bound(statement), _bound_elsewhere(function, statement)
    if bound & elsewhere:
        raise Refuse(f"`{min(bound & elsewhere)}` is bound a second time in the function")
    needed = {n.value for n in walk(statement) if isinstance(n, cst.Name) and not editor.is_label(n)}
    unknown = needed - bound - bound_names(statement) - (known_names(top, editor) - elsewhere)
    if unknown:
        raise Refuse(f"`{min(unknown)}` is not known when the file is imported")
    outside = {name for name in bound if editor.mentions_outside(function, name)}
    if outside:
        raise Refuse(f"`{min(outside)}` is also a name outside the function")
    line = editor.first_line(top)
    text = editor.dedented(statement) + editor.newline * 3
    edits = (Edit(editor.path, (line, 1), (line, 1), text), editor.delete(statement))
    reason = "It is done once, when the file is imported, and not in each call."
    return FixPlan(edits, "unsafe", reason, known=("once",))


def _definition(place: cst.CSTNode, editor: Editor) -> cst.Try | cst.ClassDef | None:
    if isinstance(place, cst.ClassDef):
        return place
    found = next((n for n in editor.ancestors(place) if isinstance(n, (cst.Try, cst.FunctionDef))), None)
    if not isinstance(found, cst.Try):
        return None
    plain = (cst.Import, cst.ImportFrom, cst.Assign, cst.Pass)
    is_plain = all(isinstance(n, plain) for n in walk(found) if isinstance(n, cst.BaseSmallStatement))
    return found if is_plain and not any(isinstance(n, cst.Call) for n in walk(found)) else None


def _bound(statement: cst.CSTNode) -> frozenset[str]:
    """The names that ``statement`` leaves behind."""
    if isinstance(statement, cst.ClassDef):
        return frozenset({statement.name.value})
    imports = (n for n in walk(statement) if isinstance(n, (cst.Import, cst.ImportFrom)))
    return bound_names(statement) | {name for n in imports for name in names(n)}


def _bound_elsewhere(function: cst.FunctionDef, statement: cst.CSTNode) -> frozenset[str]:
    """The names that ``function`` binds by its arguments and by statements other than ``statement``."""
    other = (n for n in function.body.body if n is not statement)
    return bound_names(function.params) | {name for n in other for name in bound_names(n)}
