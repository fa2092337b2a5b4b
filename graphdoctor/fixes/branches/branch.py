"""The rewrite that fits a branch on tensor data: an assert of the graph for checks, else ``torch.where``."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.conditions import conjuncts
from graphdoctor.fixes.analysis.types import is_number
from graphdoctor.fixes.branches.asserts import assert_in_graph, constant_message, raised
from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.branches.counters import count_by_condition
from graphdoctor.fixes.branches.early_return import choose_at_the_end, write_by_choice
from graphdoctor.fixes.branches.finite_choice import choose_values
from graphdoctor.fixes.branches.flatten import flatten_branch
from graphdoctor.fixes.branches.output_blocks import guard_branch
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.static.rule import FixPlan, Hit, Refusal


def rewrite_branch(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """Rewrite the statement or expression that branches on the value at the hit."""
    branch = branch_of(hit.place, editor)
    if isinstance(branch, cst.If):
        raises = raised(branch.body)[0] is not None
        return assert_in_graph(branch, hit, editor) if raises else _chosen(branch, hit, editor)
    if isinstance(branch, cst.IfExp):
        return choose_values(branch, hit, editor)
    if isinstance(branch, cst.Assert):
        return constant_message(branch, hit, editor)
    if isinstance(branch, cst.While):
        bound = _bound(branch.test, editor)
        if bound:
            return Refusal(
                f"Write a for loop over `range({bound})`, in which `torch.where` keeps the old values once the rest of "
                "the test is false."
            )
        return Refusal("A while loop on tensor data has no simple rewrite; bound the loop, or use torch.while_loop.")
    return Refusal("This value is tested in the middle of an expression, which has no simple rewrite.")


def _chosen(branch: cst.If, hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """One choice for each value; else why not, with the code of a side that speaks against it."""
    plan = choose_values(branch, hit, editor)
    if isinstance(plan, FixPlan) or not plan.reason.startswith(_NO_CHOICE):
        return plan
    other = first_fit(hit, editor, rewrite_sides)
    if isinstance(other, FixPlan) or not ("`" in other.reason or "sides" in other.reason):
        return plan
    reason = other.reason if other.reason[:1] == "`" else other.reason[:1].lower() + other.reason[1:]
    return plan if reason.startswith("it is not clear") else Refusal(f"torch.where does not fit: {reason}")


#: What is said of a side that does more than to assign names: which code of it does so is not.
_NO_CHOICE = "torch.where does not fit: a side "


def _bound(test: cst.BaseExpression, editor: Editor) -> str:
    """``limit`` of ``x.any() and step < limit`` for numbers of Python; empty where no number bounds the loop."""
    for part in conjuncts(test)[: None if isinstance(test, cst.BooleanOperation) else 0]:
        target = part.comparisons[0] if isinstance(part, cst.Comparison) and len(part.comparisons) == 1 else None
        if not isinstance(part, cst.Comparison) or target is None or not isinstance(target.operator, cst.LessThan):
            continue
        if isinstance(part.left, cst.Name) and all(is_number(n, editor) for n in (part.left, target.comparator)):
            return editor.code(target.comparator)
    return ""


def leave_out_branch(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """A branch that only writes output runs in eager alone."""
    return guard_branch(branch_of(hit.place, editor), editor)


def count_in_graph(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """A branch that only counts adds the condition to the counter."""
    return count_by_condition(branch_of(hit.place, editor), hit, editor)


def rewrite_sides(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """A branch whose sides do several things becomes code without a branch."""
    return flatten_branch(branch_of(hit.place, editor), hit, editor)


def choose_result(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """The value of an early return is chosen where the function ends."""
    return choose_at_the_end(branch_of(hit.place, editor), hit, editor)


def write_rest(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``if t: return`` in the middle of a function: where the test holds, what the rest assigns keeps its old value."""
    return write_by_choice(branch_of(hit.place, editor), hit, editor)


def rewrite_any(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """The first of these that fits."""
    return first_fit(hit, editor, rewrite_branch, leave_out_branch, rewrite_sides, choose_result, write_rest)


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
