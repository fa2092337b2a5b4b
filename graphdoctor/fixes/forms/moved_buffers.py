"""A buffer that is moved and stored again, ``self.table = self.table.to(x.device)``: the rest reads a local name."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk


def keep_in_local(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``table = self.table.to(x.device)``, stored in eager only. Raises Refuse where other code needs it stored."""
    statement = editor.statement_of(hit.place)
    target = statement.targets[0].target if isinstance(statement, cst.Assign) and len(statement.targets) == 1 else None
    function, line = editor.function_of(hit.place), editor.parent(statement)
    alone = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
    if not isinstance(statement, cst.Assign) or not isinstance(target, cst.Attribute) or function is None or not alone:
        return Refusal("The buffer is not stored by an assignment of its own.")
    if not isinstance(target.value, cst.Name):
        return Refusal("The buffer is one of another object, which other code may read.")
    if any(isinstance(n, (cst.For, cst.While)) for n in _around(statement, function, editor)):
        return Refusal("The next round of the loop may read the buffer before it is converted.")
    text = editor.code(target)
    end = editor.location(statement).end_line
    reads = (n for n in walk(function) if isinstance(n, cst.Attribute) and editor.code(n) == text)
    later = [n for n in reads if editor.location(n).line > end]
    _check(statement, target, later, function, editor)
    name = editor.fresh(target.attr.value)
    indent = editor.indent_of(statement)
    value = f"{name} = {editor.code(statement.value)}"
    stored = editor.lines(indent, value, "if not torch.compiler.is_compiling():", f"\t{text} = {name}")
    edits = (editor.replace(statement, stored), *(editor.replace(n, name) for n in later))
    reason = f"In eager nothing changes; under compile `{text}` stays as it was, and each call converts it."
    return FixPlan((*editor.torch_import(statement), *edits), "unsafe", reason)


def _check(
    statement: cst.Assign, target: cst.Attribute, later: list[cst.Attribute], function: cst.FunctionDef, editor: Editor
) -> None:
    text = editor.code(target)
    block = _block(statement, editor)
    for read in later:
        if block not in editor.ancestors(read):
            raise Refuse(f"line {editor.location(read).line} reads `{text}` where it may not have been converted")
        if isinstance(editor.parent(read), (cst.AssignTarget, cst.AugAssign, cst.Del, cst.AnnAssign)):
            raise Refuse(f"line {editor.location(read).line} stores `{text}` again")
        if any(isinstance(n, (cst.FunctionDef, cst.Lambda)) for n in _around(read, function, editor)):
            raise Refuse(f"line {editor.location(read).line} reads `{text}` when it is called")
    owner = next((n for n in editor.ancestors(function) if isinstance(n, cst.ClassDef)), None)
    for method in walk(owner) if owner is not None else ():
        if not isinstance(method, cst.FunctionDef) or method is function or method.name.value == "__init__":
            continue
        if any(isinstance(n, cst.Attribute) and editor.code(n) == text for n in walk(method)):
            raise Refuse(f"`{method.name.value}` reads `{text}`, too")


def _block(statement: cst.CSTNode, editor: Editor) -> cst.CSTNode:
    """The lines that the statement is among."""
    return next(n for n in editor.ancestors(statement) if isinstance(n, (cst.IndentedBlock, cst.Module)))


def _around(read: cst.CSTNode, function: cst.FunctionDef, editor: Editor) -> list[cst.CSTNode]:
    """What stands between ``read`` and ``function``."""
    found: list[cst.CSTNode] = []
    for node in editor.ancestors(read):
        if node is function:
            break
        found.append(node)
    return found
