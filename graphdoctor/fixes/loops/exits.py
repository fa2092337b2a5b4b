"""``break`` and ``return`` that depend on tensor data: every round runs, and ``torch.where`` keeps the old values after
the exit.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from graphdoctor.fixes.analysis.conditions import Condition, Conditions
from graphdoctor.fixes.analysis.held_before import is_bound_before
from graphdoctor.fixes.analysis.types import is_number
from graphdoctor.fixes.branches import branch_arms
from graphdoctor.fixes.branches.branch import branch_of
from graphdoctor.fixes.branches.loop_steps import (
    Step,
    check_sizes,
    check_unchanged,
    keep,
    kept_steps,
    start_value,
)
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import target_names
from graphdoctor.fixes.loops.skips import ALL_ROUNDS, Rounds, flag_around, one_bool
from graphdoctor.fixes.proof.last_lines import rest_of
from graphdoctor.model.findings import Edit
from graphdoctor.static.rule import FixPlan, Hit, Refusal


def leave_in_round(hit: Hit, editor: Editor) -> Rounds | Refusal:
    """``for ...:`` with ``if t: break`` or ``if t: return y`` in it, also under a flag.

    Raises Refuse where it does not fit.
    """
    branch = branch_of(hit.place, editor)
    leaves = _leaves(branch) if isinstance(branch, cst.If) else None
    if not isinstance(branch, cst.If) or leaves is None:
        return Refusal("This neither breaks out of a loop nor returns from it.")
    outer = flag_around(branch, editor)
    block = editor.parent(outer or branch)
    loop = editor.parent(block) if block is not None else None
    if not isinstance(loop, cst.For) or not isinstance(block, cst.IndentedBlock) or loop.orelse is not None:
        raise Refuse("the branch does not stand in a for loop itself")
    if outer is not None:
        check_unchanged(outer.test, loop)
    condition = one_bool(Conditions(editor, hit).split(branch.test))
    at = list(block.body).index(outer or branch)
    inside = list(outer.body.body[:-1]) if outer is not None else []
    lines = [*block.body[:at], *inside, *block.body[at + 1 :]]
    steps: Sequence[Step] = ()
    check_sizes(lines, editor)
    if isinstance(leaves, cst.Return):
        edits = _returned(branch, leaves, loop, condition, lines, editor)
    else:
        _check_target(loop, editor)
        steps = kept_steps(lines, loop, editor, leaves=True)
        edits = _left(branch, loop, condition, steps, editor)
    plan = FixPlan((*editor.torch_import(loop), *edits), "unsafe", ALL_ROUNDS, known=("zero_gradients",))
    return Rounds(plan, loop, steps)


def _check_target(loop: cst.For, editor: Editor) -> None:
    """Refuse a loop whose variable is read after it: it is that of the last round then, and not that of the break."""
    function, end = editor.function_of(loop), editor.location(loop).end_line
    if function is None:
        return
    for name in sorted(target_names(loop.target)):
        later = [n for n in editor.mentions(function, name) if editor.location(n).line > end]
        if later:
            raise Refuse(f"line {editor.location(later[0]).line} reads `{name}` after the loop")


def _leaves(branch: cst.If) -> cst.Break | cst.Return | None:
    """The break, or the return of a value, that is all that ``branch`` does."""
    small = list(branch_arms.statements(branch.body))
    if len(small) != 1 or branch.orelse is not None:
        return None
    only = small[0]
    if isinstance(only, cst.Break) or (isinstance(only, cst.Return) and only.value is not None):
        return only
    return None


def _marked(branch: cst.If, condition: Condition, before: Sequence[str], done: str, editor: Editor) -> Edit:
    """``done = done | t`` in place of ``branch``, after the Python part of its test."""
    indent = editor.indent_of(branch)
    inside = indent + (editor.indent if condition.python else "")
    lines = [*before, editor.statement(inside, f"{done} = ", f"{done} | ({condition.tensor})")]
    if condition.python:
        lines = [f"if {condition.python}:", *(f"\t{line}" for line in lines)]
    return editor.replace(branch, editor.lines(indent, *lines))


def _left(
    branch: cst.If, loop: cst.For, condition: Condition, steps: Sequence[Step], editor: Editor
) -> tuple[Edit, ...]:
    """No value changes any more once ``done`` is true; what only the loop makes, for code after it, begins as None."""
    done, indent = editor.fresh("done"), editor.newline + editor.indent_of(loop)
    names = [name for step in steps for name in step.kept if name.isidentifier()]
    made = [name for name in names if not is_bound_before(name, loop, editor)]
    empty = [*made, *(name for name in names if _starts_as_none(name, loop, editor))]
    known = next((name for name in names if name not in empty and not _starts_as_number(name, loop, editor)), None)
    start = f"{known}.new_zeros((), dtype=torch.bool)" if known is not None else "torch.tensor(False)"
    first = f"{done} = {start}{indent}" + "".join(f"{name} = None{indent}" for name in dict.fromkeys(made))
    kept = []
    for step in steps:
        new = [name for name in step.kept if name in empty]
        if new and len(new) < len(step.kept):
            raise Refuse(f"`{new[0]}` has no value before the loop")
        kept.append(keep(step, done, f"{new[0]} is not None" if new else "", editor))
    return (editor.insert_before(loop, first), *kept, _marked(branch, condition, (), done, editor))


def _starts_as_none(name: str, loop: cst.For, editor: Editor) -> bool:
    """Whether ``name`` holds None when the loop begins, and its first round gives it a value."""
    first = start_value(name, loop, editor)
    return isinstance(first, cst.Name) and first.value == "None"


def _starts_as_number(name: str, loop: cst.For, editor: Editor) -> bool:
    """Whether ``name`` holds a Python number when the loop begins."""
    first = start_value(name, loop, editor)
    return first is not None and is_number(first, editor)


def _returned(
    branch: cst.If,
    leaves: cst.Return,
    loop: cst.For,
    condition: Condition,
    lines: Sequence[cst.CSTNode],
    editor: Editor,
) -> tuple[Edit, ...]:
    """The value of the first round that returned one, chosen where the function ends."""
    for line in lines:
        _check_assigns(line, editor)
    rest = rest_of(loop, editor)
    end = rest.end
    assert leaves.value is not None
    for side in (leaves.value, end, *rest.values):
        branch_arms.check(side, editor)
    done, early = editor.fresh("done"), editor.fresh("early")
    value = editor.code(leaves.value)
    first = f"{done}, {early} = torch.tensor(False), None{editor.newline}{editor.indent_of(loop)}"
    taken = f"{early} = {value} if {early} is None else torch.where({done}, {early}, {value})"
    last = editor.code(end)
    text = f"{last} if {early} is None else torch.where({done}, {early}, {last})"
    marked = _marked(branch, condition, (taken,), done, editor)
    return (editor.insert_before(loop, first), marked, editor.replace(end, text))


def _check_assigns(line: cst.CSTNode, editor: Editor) -> None:
    """Refuse a ``line`` of the loop that does more than assign names: the rounds after the return run too."""
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    target = small.targets[0].target if isinstance(small, cst.Assign) and len(small.targets) == 1 else None
    if not isinstance(small, cst.Assign) or not isinstance(target, cst.Name):
        raise Refuse(f"line {editor.location(line).line} of the loop does more than assign a name")
