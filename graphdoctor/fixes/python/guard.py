"""Output that should happen in eager only: put it under ``if not torch.compiler.is_compiling():``."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.effects import trace
from graphdoctor.fixes.analysis.once_only import is_given_once
from graphdoctor.fixes.analysis.outputs import more_than_output
from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.domain.events import Call
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

#: Letters of what is called, such as ``self.logger.info``, above which only its last name is said.
_LONGEST = 40


def guard_statement(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """Guard a call that is a statement of its own: print, logging, warnings, writes to stdout.

    Dynamo folds ``torch.compiler.is_compiling()`` to True, so the guarded call is never traced. Safe where nothing but
    the output is lost under compile.
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
    call, event = hit.place, hit.event
    if not isinstance(call, cst.Call):
        return FixPlan(edits, "unsafe", "Under compile this statement is left out.")
    name = editor.code(call.func)
    shown = f"`{name if len(name) <= _LONGEST else called(call)}(...)`"
    if not isinstance(event, Call):
        return FixPlan(edits, "unsafe", f"Under compile {shown} is left out.")
    more = more_than_output(event.qualname, call, editor)
    if more:
        return FixPlan(edits, "unsafe", f"Under compile {shown} is left out, and {more}.")
    lost = trace(call.args, (*event.args, *event.kwargs.values()), event.inner, editor)
    if lost:
        return FixPlan(edits, "unsafe", f"Under compile {shown} is left out, and `{lost}` does not run either.")
    if is_given_once(statement, editor):
        reason = f"Under compile {shown} is left out, and noted as given, so a later eager call leaves it out too."
        return FixPlan(edits, "unsafe", reason)
    return FixPlan(
        editor.shortest_guard(statement), "safe", f"In eager nothing changes; under compile {shown} is left out."
    )
