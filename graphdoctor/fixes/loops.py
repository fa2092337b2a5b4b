"""``break`` and ``continue`` that depend on tensor data: the loop goes on, and ``torch.where`` keeps the old values."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from graphdoctor.fixes.branch import branch_of
from graphdoctor.fixes.conditions import Condition, Conditions
from graphdoctor.fixes.editor import Editor, walk
from graphdoctor.fixes.errors import Refuse
from graphdoctor.fixes.scope import assignments, names, parameters
from graphdoctor.model import Edit
from graphdoctor.static.rule import FixPlan, Hit, Refusal


def keep_looping(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``for ...: x = f(x)`` with ``if t: break`` at its end, or with ``if t: continue`` before it."""
    branch = branch_of(hit.place, editor)
    jump = _jump(branch) if isinstance(branch, cst.If) else None
    if not isinstance(branch, cst.If) or jump is None:
        return Refusal("This is neither a break nor a continue.")
    block = editor.parent(branch)
    loop = editor.parent(block) if block is not None else None
    if not isinstance(loop, cst.For) or not isinstance(block, cst.IndentedBlock) or loop.orelse is not None:
        raise Refuse("the branch does not stand in a for loop itself")
    condition = Conditions(editor, hit).split(branch.test)
    if not condition.scalar:
        raise Refuse("the condition is not shown to be one bool of a tensor")
    at = list(block.body).index(branch)
    lines = list(block.body[:at] if isinstance(jump, cst.Break) else block.body[at + 1 :])
    if isinstance(jump, cst.Break) and (at + 1 < len(block.body) or condition.python):
        raise Refuse("the break is not the last thing in the loop, or not by tensor data alone")
    steps = _steps(lines, loop, editor)
    if isinstance(jump, cst.Break):
        edits = _leave(branch, loop, condition, steps, editor)
    else:
        edits = _skip(branch, condition, steps, editor)
    reason = "Every round runs, and its results are dropped where they did not count; random numbers are drawn in all."
    return FixPlan((*editor.torch_import(loop), *edits), "unsafe", reason)


def _jump(branch: cst.If) -> cst.Break | cst.Continue | None:
    """The break or continue that is all that ``branch`` does."""
    line = branch.body.body[0]
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    is_all = len(branch.body.body) == 1 and branch.orelse is None
    return small if is_all and isinstance(small, (cst.Break, cst.Continue)) else None


def _steps(lines: Sequence[cst.CSTNode], loop: cst.For, editor: Editor) -> list[tuple[str, cst.Assign]]:
    """The assignments of ``lines`` whose old value is kept: those of names that live on after a round."""
    function = editor.function_of(loop)
    if function is None:
        raise Refuse("the code is not in a function")
    start, inside = editor.location(loop), set(walk(loop))
    outside = [n for n in walk(function) if isinstance(n, cst.Name) and n not in inside]
    after = {n.value for n in outside if editor.location(n) > start}
    steps: list[tuple[str, cst.Assign]] = []
    for line in lines:
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
        target = small.targets[0].target if isinstance(small, cst.Assign) and len(small.targets) == 1 else None
        if not isinstance(small, cst.Assign) or not isinstance(target, cst.Name):
            raise Refuse(f"line {editor.location(line).line} of the loop does more than assign a name")
        bound = [n for n in assignments(function, target.value) if n not in inside and editor.location(n) < start]
        if bound or target.value in parameters(function):
            steps.append((target.value, small))
        elif target.value in after:
            raise Refuse(f"`{target.value}` has no value before the loop")
    if not steps:
        raise Refuse("nothing that the loop computes is kept")
    return steps


def _leave(
    branch: cst.If, loop: cst.For, condition: Condition, steps: Sequence[tuple[str, cst.Assign]], editor: Editor
) -> tuple[Edit, ...]:
    """``if t: break`` becomes ``done = done | t``, and no value changes any more once it is true."""
    done, indent = _fresh("done", editor), editor.indent_of(branch)
    first = f"{done} = {steps[0][0]}.new_zeros((), dtype=torch.bool){editor.newline}{editor.indent_of(loop)}"
    kept = [_keep(name, assign, done, "", editor) for name, assign in steps]
    test = editor.replace(branch, editor.statement(indent, f"{done} = ", f"{done} | ({condition.tensor})"))
    return (editor.insert_before(loop, first), *kept, test)


def _skip(
    branch: cst.If, condition: Condition, steps: Sequence[tuple[str, cst.Assign]], editor: Editor
) -> tuple[Edit, ...]:
    """``if t: continue`` becomes ``skipped = t``, and the values of this round are not taken where it is true."""
    skipped, indent = _fresh("skipped", editor), editor.indent_of(branch)
    value = f"{condition.tensor} if {condition.python} else None" if condition.python else condition.tensor
    kept = [_keep(name, assign, skipped, condition.python, editor) for name, assign in steps]
    return (editor.replace(branch, editor.statement(indent, f"{skipped} = ", value)), *kept)


def _keep(name: str, assign: cst.Assign, test: str, python: str, editor: Editor) -> Edit:
    value = editor.code(assign.value)
    text = f"torch.where({test}, {name}, {value})"
    text = f"{text} if {python} else {value}" if python else text
    return editor.replace(assign, editor.statement(editor.indent_of(assign), f"{name} = ", text))


def _fresh(name: str, editor: Editor) -> str:
    taken = names(editor.module.tree)
    while name in taken:
        name += "_"
    return name
