"""``continue`` that depends on tensor data: the round goes on, and ``torch.where`` keeps the old values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import libcst as cst

from graphdoctor.fixes.analysis.conditions import Condition, Conditions
from graphdoctor.fixes.analysis.held_before import values_before
from graphdoctor.fixes.branches.branch import branch_of
from graphdoctor.fixes.branches.branch_arms import check_tensor
from graphdoctor.fixes.branches.finite_gradients import finite_unless
from graphdoctor.fixes.branches.loop_steps import (
    Appended,
    Step,
    check_unchanged,
    is_check,
    is_flag,
    keep,
    start_value,
    steps_in,
)
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.model.findings import Edit, Known
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find

ALL_ROUNDS = (
    "Every round runs, and its results are dropped where they did not count: no time is saved, what its calls change "
    "is changed in all, what only such a round uses gets gradients of zero, not None, or NaN where an operator has no "
    "finite gradient there, and random numbers are drawn in all."
)


@dataclass(frozen=True)
class Rounds:
    """A loop of which every round runs now, and the steps whose old values are kept."""

    plan: FixPlan
    loop: cst.For
    steps: Sequence[Step]
    appended: Sequence[Appended] = ()
    #: The name that is true where a round does not count, and the Python part in front of it.
    test: str = ""
    python: str = ""
    #: What stands before the lines of the round, where they are moved, and the branch that they were in.
    indent: str | None = None
    whole: cst.If | None = None


def skip_in_round(hit: Hit, editor: Editor) -> Rounds | Refusal:
    """``for ...:`` with ``if t: continue`` in it. Raises Refuse where it does not fit."""
    branch = branch_of(hit.place, editor)
    if not isinstance(branch, cst.If) or not _continues(branch):
        return Refusal("This does not go on with the next round.")
    condition = one_bool(Conditions(editor, hit).split(branch.test))
    own = _last_block(branch, editor)
    outer = None if own is not None else flag_around(branch, editor)
    block = editor.parent(outer or branch)
    loop = own if own is not None else editor.parent(block) if block is not None else None
    if not isinstance(loop, cst.For) or not isinstance(block, cst.IndentedBlock) or loop.orelse is not None:
        raise Refuse("the branch does not stand in a for loop itself")
    if outer is not None:
        check_unchanged(outer.test, loop)
        both = [editor.code(outer.test), condition.python]
        condition = replace(condition, python=" and ".join(part for part in both if part))
    at = list(block.body).index(outer or branch)
    later = list(block.body[at + 1 :])
    steps, appended = steps_in(later, loop, editor, checked=True)
    if not steps and not appended:
        raise Refuse("nothing that the loop computes is kept")
    check_old_values(steps, branch, loop, editor)
    skipped = editor.fresh("skipped")
    inside = condition.python if outer is None else ""
    value = f"{condition.tensor} if {inside} else None" if inside else condition.tensor
    marked = editor.replace(branch, editor.statement(editor.indent_of(branch), f"{skipped} = ", value))
    edits = [marked, *(keep(step, skipped, condition.python, editor) for step in steps)]
    if not condition.python:
        edits += helpers(later, steps, skipped, editor)
    checks = [node for line in later for node in find(line, cst.If) if is_check(node)]
    reason = ALL_ROUNDS
    known: tuple[Known, ...] = ("zero_gradients",)
    if checks:
        number = editor.location(checks[0]).line
        reason, known = f"{ALL_ROUNDS} The check in line {number} is made in all, too.", (*known, "checks")
    plan = FixPlan((*editor.torch_import(loop), *edits), "unsafe", reason, known=known)
    return Rounds(plan, loop, steps, appended, skipped, condition.python)


def check_old_values(steps: Sequence[Step], branch: cst.If, loop: cst.For, editor: Editor) -> None:
    """Refuse names that hold None or another object where ``torch.where`` would keep their value."""
    for name in (name for step in steps for name in step.kept if name.isidentifier()):
        first = start_value(name, loop, editor)
        for value in values_before(name, branch, editor) or ([] if first is None else [first]):
            check_tensor(value, editor)


def helpers(lines: Sequence[cst.CSTNode], steps: Sequence[Step], skipped: str, editor: Editor) -> Iterator[Edit]:
    """Names that live for one round are computed where it does not count, too, with finite gradients."""
    kept = {step.statement for step in steps}
    for assign in (node for line in lines for node in find(line, cst.Assign) if node not in kept):
        value = finite_unless(skipped, assign.value, editor)
        if value != editor.code(assign.value):
            yield editor.replace(assign.value, value)


def _last_block(branch: cst.If, editor: Editor) -> cst.For | None:
    """The loop around ``if flag: ... else: ...``, its last statement, of which ``branch`` is no last line: what is
    skipped then is the rest of that side."""
    block = editor.parent(branch)
    if not isinstance(block, cst.IndentedBlock) or block.body[-1] is branch:
        return None
    side = editor.parent(block)
    while isinstance(side, (cst.If, cst.Else)) and isinstance(editor.parent(side), cst.If):
        side = editor.parent(side)
    around = editor.parent(side) if isinstance(side, cst.If) else None
    loop = editor.parent(around) if isinstance(around, cst.IndentedBlock) and around.body[-1] is side else None
    return loop if isinstance(loop, cst.For) else None


def flag_around(branch: cst.If, editor: Editor) -> cst.If | None:
    """``if self.training:`` around ``branch``, which is the last statement in it; the flag is tested again later.

    Raises Refuse where it does not fit.
    """
    block = editor.parent(branch)
    outer = editor.parent(block) if isinstance(block, cst.IndentedBlock) else None
    if not isinstance(outer, cst.If) or not isinstance(block, cst.IndentedBlock):
        return None
    if outer.orelse is not None or block.body[-1] is not branch or not is_flag(outer.test):
        raise Refuse("the branch does not end a plain `if` on one flag")
    return outer


def one_bool(condition: Condition) -> Condition:
    """The tensor part as one bool; where it has several elements, Python's test raises, too."""
    return replace(condition, tensor=condition.without_dimensions(condition.tensor), scalar=True)


def _continues(branch: cst.If) -> bool:
    """Whether ``continue`` is all that ``branch`` does."""
    line = branch.body.body[0]
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    return len(branch.body.body) == 1 and branch.orelse is None and isinstance(small, cst.Continue)
