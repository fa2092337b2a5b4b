"""The rewrite that fits a branch on tensor data: an assert of the graph for checks, else ``torch.where``."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.asserts import assert_in_graph, constant_message, only_statement
from graphdoctor.fixes.editor import Editor
from graphdoctor.fixes.where import choose_with_where
from graphdoctor.static.rule import FixPlan, Hit, Refusal


def rewrite_branch(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """Rewrite the statement or expression that asks for the truth of the hit's place."""
    branch = branch_of(hit.place, editor)
    if isinstance(branch, cst.If):
        raises = isinstance(only_statement(branch.body), cst.Raise)
        return assert_in_graph(branch, hit, editor) if raises else choose_with_where(branch, hit, editor)
    if isinstance(branch, cst.IfExp):
        return choose_with_where(branch, hit, editor)
    if isinstance(branch, cst.Assert):
        return constant_message(branch, hit, editor)
    if isinstance(branch, cst.While):
        return Refusal("A while loop on tensor data has no plain rewrite; bound the loop, or use torch.while_loop.")
    return Refusal("The truth of this value is asked in the middle of an expression, which has no plain rewrite.")


def branch_of(node: cst.CSTNode, editor: Editor) -> cst.CSTNode | None:
    """The if, while, assert or conditional expression in whose test ``node`` stands; None when there is none."""
    inner = node
    for outer in (node, *editor.ancestors(node)):
        if isinstance(outer, (cst.If, cst.IfExp, cst.While, cst.Assert)) and (outer is node or outer.test is inner):
            return outer
        if isinstance(outer, (cst.BaseStatement, cst.BaseSuite, cst.CompFor, cst.Lambda)):
            return None
        inner = outer
    return None
