"""A branch as a choice of values: with finite gradients where a side may not have them, else as short as can be."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from graphdoctor.fixes.analysis.conditions import Conditions
from graphdoctor.fixes.analysis.purity import calls, is_pure
from graphdoctor.fixes.analysis.types import ReadNames, read_names
from graphdoctor.fixes.branches import branch_arms
from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.branches.early_return import choose_at_the_end
from graphdoctor.fixes.branches.finite_gradients import kept_finite, operands
from graphdoctor.fixes.branches.flatten import flatten_branch
from graphdoctor.fixes.branches.where import choose_with_where
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

_NOT_ALIKE = "the sides are not proved to have the same shape, dtype, device and gradients"


def choose_values(branch: cst.If | cst.IfExp | cst.Match, hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """The branch as code without one. Where the condition has a name, gradients of what is computed can stay finite."""
    if isinstance(branch, cst.IfExp) and not isinstance(hit.data, ReadNames):
        return _expression(branch, hit, editor)
    read = read_names(hit).names
    if isinstance(branch, cst.If) and any(operands(part, editor, read) for part in _computed(branch, editor)):
        plan = first_fit(hit, editor, partial(flatten_branch, branch), partial(choose_at_the_end, branch))
        if isinstance(plan, FixPlan):
            return plan
    return choose_with_where(branch, hit, editor)


def _computed(branch: cst.If, editor: Editor) -> Iterator[cst.CSTNode]:
    """What is computed in each call from now on: the sides, and what is returned after the branch."""
    yield branch.body
    if branch.orelse is not None:
        yield branch.orelse
    following = editor.following(branch)
    small = following.body[0] if isinstance(following, cst.SimpleStatementLine) else None
    if isinstance(small, cst.Return):
        yield small


def _expression(node: cst.IfExp, hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``a / b if b > 0 else a`` with a name for the condition, in a line before its statement."""
    plain = choose_with_where(node, hit, editor)
    taken, other = operands(node.body, editor), operands(node.orelse, editor)
    if isinstance(plain, Refusal) or not (taken or other):
        return plain
    statement, condition = editor.statement_of(node), Conditions(editor, hit).split(node.test)
    block = editor.parent(editor.parent(statement) or statement)
    is_line = isinstance(statement, cst.BaseSmallStatement) and isinstance(block, cst.IndentedBlock)
    if condition.python or not is_line or not _may_be_asked_before(node, statement, editor):
        return plain
    name = editor.fresh("condition")
    one, two = kept_finite(node.body, taken, name, editor), kept_finite(node.orelse, other, f"~{name}", editor)
    test = f"{name} = {condition.without_dimensions(condition.tensor)}"
    before = editor.insert_before(statement, editor.lines(editor.indent_of(statement), test, ""))
    edits = (*editor.torch_import(node), before, editor.replace(node, f"torch.where({name}, {one}, {two})"))
    risks = [*branch_arms.risks(node.body, editor, taken), *branch_arms.risks(node.orelse, editor, other), _NOT_ALIKE]
    reason = f"Both sides are computed: {'; '.join(dict.fromkeys(risks))}."
    return FixPlan(edits, "unsafe", reason, known=plain.known)


def _may_be_asked_before(node: cst.IfExp, statement: cst.CSTNode, editor: Editor) -> bool:
    """Whether ``statement`` asks the test once, in any case, and calls nothing before that may change what it reads."""
    around: set[cst.CSTNode] = set()
    for outer in editor.ancestors(node):
        if outer is statement:
            break
        if isinstance(outer, (cst.Lambda, cst.BaseComp, cst.IfExp, cst.BooleanOperation)):
            return False
        around.add(outer)
    known = around | set(walk(node))
    return all(call in known or is_pure(call, editor) for call in calls(statement))
