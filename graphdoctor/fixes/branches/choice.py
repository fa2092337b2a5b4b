"""A branch as a choice of values: with finite gradients where a side may not have them, else as short as can be."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import libcst as cst

from graphdoctor.fixes.analysis.conditions import Conditions
from graphdoctor.fixes.analysis.types import ReadNames
from graphdoctor.fixes.branches import branch_arms
from graphdoctor.fixes.branches.early_return import choose_at_the_end
from graphdoctor.fixes.branches.flatten import flatten_branch
from graphdoctor.fixes.branches.guarded_values import guarded, operands
from graphdoctor.fixes.branches.where import choose_with_where
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.rule import FixPlan, Hit, Refusal


def choose(branch: cst.If | cst.IfExp | cst.Match, hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """The branch without a branch. What computes values under a named condition can keep them finite."""
    if isinstance(branch, cst.IfExp) and not isinstance(hit.data, ReadNames):
        return _expression(branch, hit, editor)
    if isinstance(branch, cst.If) and any(operands(part, editor) for part in _computed(branch, editor)):
        for rewrite in (flatten_branch, choose_at_the_end):
            with contextlib.suppress(Refuse):
                plan = rewrite(branch, hit, editor)
                if isinstance(plan, FixPlan):
                    return plan
    return choose_with_where(branch, hit, editor)


def _computed(branch: cst.If, editor: Editor) -> Iterator[cst.CSTNode]:
    """What is computed in each call from now on: the sides, and what is returned behind the branch."""
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
    sides = (node.body, node.orelse)
    if isinstance(plain, Refusal) or not any(operands(side, editor) for side in sides):
        return plain
    statement, condition = editor.statement_of(node), Conditions(editor, hit).split(node.test)
    block = editor.parent(editor.parent(statement) or statement)
    is_line = isinstance(statement, cst.BaseSmallStatement) and isinstance(block, cst.IndentedBlock)
    if condition.python or not is_line or _runs_more_than_once(node, statement, editor):
        return plain
    name = editor.fresh("condition")
    taken, other = (guarded(side, test, editor) for side, test in zip(sides, (name, f"~{name}"), strict=True))
    test = f"{name} = {condition.without_dimensions(condition.tensor)}"
    before = editor.insert_before(statement, editor.lines(editor.indent_of(statement), test, ""))
    edits = (*editor.torch_import(node), before, editor.replace(node, f"torch.where({name}, {taken}, {other})"))
    risks = (risk for side in sides for risk in branch_arms.risks(side, editor, operands(side, editor)))
    reason = f"Both sides are computed: {'; '.join(dict.fromkeys([*risks, _NOT_ALIKE]))}."
    return FixPlan(edits, "unsafe", reason, known=plain.known)


_NOT_ALIKE = "they are not proved to have the same shape, dtype and device"


def _runs_more_than_once(node: cst.CSTNode, statement: cst.CSTNode, editor: Editor) -> bool:
    """Whether ``node`` stands in a function or a comprehension inside of its statement, or in another condition."""
    for outer in editor.ancestors(node):
        if outer is statement:
            return False
        if isinstance(outer, (cst.Lambda, cst.BaseComp, cst.IfExp, cst.BooleanOperation)):
            return True
    return True
