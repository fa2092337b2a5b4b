"""A branch on a number that becomes a 0-d tensor: the first rewrite of branches and loops that fits."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import libcst as cst

from graphdoctor.fixes.branches.counters import count_by_condition
from graphdoctor.fixes.branches.early_return import choose_at_the_end
from graphdoctor.fixes.branches.finite_choice import choose_values
from graphdoctor.fixes.branches.flatten import flatten_branch
from graphdoctor.fixes.branches.loop_steps import numbers
from graphdoctor.fixes.branches.output_blocks import guard_branch
from graphdoctor.fixes.branches.where import choose_with_where
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.loops.exits import leave_in_round
from graphdoctor.fixes.loops.skips import skip_in_round
from graphdoctor.static.rule import FixPlan, Hit, Refusal


def choice(branch: cst.If | cst.IfExp | cst.Match, hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """The branch as a choice, left out under compile where it only writes output, or in single statements."""
    chosen = choose_values(branch, hit, editor)
    if isinstance(chosen, FixPlan):
        return chosen
    for rewrite in (count_by_condition, _output, flatten_branch, choose_at_the_end, _rounds):
        with contextlib.suppress(Refuse):
            plan = rewrite(branch, hit, editor)
            if isinstance(plan, FixPlan):
                return plan
    return chosen


def _output(branch: cst.CSTNode, _hit: Hit, editor: Editor) -> FixPlan | Refusal:
    return guard_branch(branch, editor)


def _rounds(branch: cst.If | cst.IfExp | cst.Match, hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """A ``break`` or ``continue`` in a loop that counts and collects nothing; else what the branch alone gives."""
    for rewrite in (skip_in_round, leave_in_round):
        found = rewrite(replace(hit, node=branch.test if isinstance(branch, cst.If) else branch), editor)
        if not isinstance(found, Refusal) and not found.appended and not numbers(found.steps, found.loop, editor):
            return found.plan
    return choose_with_where(branch, hit, editor)
