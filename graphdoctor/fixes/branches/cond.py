"""A choice of which only one side may run, as ``torch.cond``.

Measured on torch 2.13: ``torch.cond(pred, f, g)`` takes functions without arguments that read the names around them;
in eager it compiles both. What they give must have the same shape and dtype, and must not be an input itself.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.conditions import Conditions
from graphdoctor.fixes.analysis.purity import RANDOM, called, calls
from graphdoctor.fixes.analysis.types import is_number
from graphdoctor.fixes.branches import branch_arms
from graphdoctor.fixes.branches.branch import branch_of
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk


def choose_with_cond(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``if t: y = f(x)`` with ``else: y = g(x)``, or two returns, where ``torch.where`` would run what must not run.

    Raises Refuse where it does not fit.
    """
    branch = branch_of(hit.place, editor)
    if not isinstance(branch, cst.If) or isinstance(branch.orelse, cst.If):
        return Refusal("This is no choice between two sides.")
    if isinstance(editor.parent(branch), cst.If):
        raise Refuse("the condition is one of a longer chain")
    condition = Conditions(editor, hit).split(branch.test)
    if condition.python or not condition.scalar:
        raise Refuse("the condition is not shown to be one bool of a tensor")
    indent = editor.indent_of(branch)
    last: cst.CSTNode = branch
    if isinstance(branch.orelse, cst.Else) and not branch_arms.is_return(branch.body):
        taken = branch_arms.assigned(branch.body, editor).in_place
        other = branch_arms.assigned(branch.orelse.body, editor).in_place
        if len(taken) != 1 or list(taken) != list(other) or "." in next(iter(taken)):
            raise Refuse("the sides do not assign one name, the same in both")
        (name,) = taken
        start, values = f"{name} = ", (taken[name], other[name])
    else:
        start, last, values = _returns(branch, editor)
    sides = ", ".join(f"lambda: {_side(value, editor)}" for value in values)
    text = editor.statement(indent, start, f"torch.cond({condition.tensor}, {sides})")
    edit = editor.replace_span(branch, last, text)
    reason = (
        "Only one side runs; both must give a tensor of the same shape and dtype, and change nothing; in eager "
        "`torch.cond` compiles them."
    )
    return FixPlan((*editor.torch_import(branch), edit), "unsafe", reason, known=("eager",))


def _returns(branch: cst.If, editor: Editor) -> tuple[str, cst.CSTNode, tuple[cst.BaseExpression, cst.BaseExpression]]:
    taken = branch_arms.returned_value(branch.body)
    if isinstance(branch.orelse, cst.Else):
        return "return ", branch, (taken, branch_arms.returned_value(branch.orelse.body))
    following = editor.following(branch)
    small = following.body[0] if isinstance(following, cst.SimpleStatementLine) else None
    if not isinstance(small, cst.Return) or small.value is None or following is None:
        raise Refuse("the return of the other side does not follow directly")
    return "return ", following, (taken, small.value)


def _side(value: cst.BaseExpression, editor: Editor) -> str:
    """The expression, cloned where it is a plain name: a side may not give an input as it is."""
    branch_arms.check_tensor(value, editor)
    if is_number(value, editor):
        raise Refuse(f"`{editor.code(value)}` is a Python number, and `torch.cond` gives tensors")
    if any(isinstance(n, (cst.Await, cst.Yield, cst.NamedExpr)) for n in walk(value)):
        raise Refuse(f"`{editor.code(value)}` awaits, yields or assigns")
    if any(isinstance(c.func, cst.Name) and c.func.value == "super" for c in calls(value)):
        raise Refuse(f"`{editor.code(value)}` calls `super()`, which a function inside may not")
    if any(called(c) in RANDOM for c in calls(value)):
        raise Refuse(f"`{editor.code(value)}` draws random numbers, which a side may not")
    return f"{editor.code(value)}.clone()" if isinstance(value, (cst.Name, cst.Attribute)) else editor.code(value)
