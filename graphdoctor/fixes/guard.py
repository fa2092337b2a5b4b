"""Output that should happen in eager only: put it under ``if not torch.compiler.is_compiling():``."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.editor import Editor
from graphdoctor.fixes.errors import Refuse
from graphdoctor.fixes.purity import calls, is_pure
from graphdoctor.source.walk import walk
from graphdoctor.static.rule import FixPlan, Hit, Refusal


def guard_statement(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """Guard a call that is a statement of its own: print, logging, warnings, writes to stdout.

    Dynamo folds ``torch.compiler.is_compiling()`` to True, so the guarded call is never traced.
    """
    statement = editor.statement_of(hit.place)
    if not isinstance(statement, cst.Expr) or statement.value is not hit.place:
        return Refusal("The value of this call is used, so it cannot be put under a guard.")
    for node in walk(statement):
        if isinstance(node, (cst.Await, cst.Yield)):
            return Refusal("The statement awaits or yields, so it must run under compile too.")
        if isinstance(node, cst.NamedExpr):
            return Refusal(f"The arguments assign {editor.code(node.target)}, which later code may read.")
    try:
        edits = editor.guard(statement)
    except Refuse as refusal:
        return Refusal(f"No guard is added: {refusal}.")
    impure = [n for n in calls(statement) if n is not hit.place and not is_pure(n, editor, python=True)]
    if impure:
        called = editor.code(impure[0])
        return FixPlan(edits, "unsafe", f"Under compile this call is left out, and `{called}` does not run either.")
    return FixPlan(edits, "safe", "In eager nothing changes; under compile this call is left out.")
