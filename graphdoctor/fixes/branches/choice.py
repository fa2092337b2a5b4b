"""A branch as a choice of values: with finite gradients where a side may not have them, else as short as can be."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import libcst as cst

from graphdoctor.fixes.branches.early_return import choose_at_the_end
from graphdoctor.fixes.branches.flatten import flatten_branch
from graphdoctor.fixes.branches.guarded_values import operands
from graphdoctor.fixes.branches.where import choose_with_where
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.rule import FixPlan, Hit, Refusal


def choose(branch: cst.If | cst.IfExp | cst.Match, hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """The branch without a branch. What computes values under a named condition can keep them finite."""
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
