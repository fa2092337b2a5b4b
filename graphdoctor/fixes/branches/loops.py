"""``continue`` that depends on tensor data: the round goes on, and ``torch.where`` keeps the old values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import libcst as cst

from graphdoctor.fixes.analysis.conditions import Condition, Conditions, tight
from graphdoctor.fixes.branches.branch import branch_of
from graphdoctor.fixes.core.editor import LINE_LENGTH, Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import assignments, parameters
from graphdoctor.model.findings import Edit
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

#: Characters of an expression above which it is not written twice.
LONG = 40
#: What ``n += 1`` computes.
OPERATORS: dict[type[cst.BaseAugOp], str] = {
    cst.AddAssign: "+", cst.SubtractAssign: "-", cst.MultiplyAssign: "*", cst.DivideAssign: "/",
}  # fmt: skip


def keep_looping(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``for ...:`` with ``if t: continue`` in it. Raises Refuse where it does not fit."""
    branch = branch_of(hit.place, editor)
    if not isinstance(branch, cst.If) or not _continues(branch):
        return Refusal("This does not go on with the next round.")
    outer = flag_around(branch, editor)
    block = editor.parent(outer or branch)
    loop = editor.parent(block) if block is not None else None
    if not isinstance(loop, cst.For) or not isinstance(block, cst.IndentedBlock) or loop.orelse is not None:
        raise Refuse("the branch does not stand in a for loop itself")
    condition = one_bool(Conditions(editor, hit).split(branch.test))
    if outer is not None:
        check_unchanged(outer.test, loop)
        both = [editor.code(outer.test), condition.python]
        condition = replace(condition, python=" and ".join(part for part in both if part))
    at = list(block.body).index(outer or branch)
    steps = kept_steps(list(block.body[at + 1 :]), loop, editor)
    edits = _skip(branch, condition, condition.python if outer is None else "", steps, editor)
    reason = "Every round runs, and its results are dropped where they did not count; random numbers are drawn in all."
    return FixPlan((*editor.torch_import(loop), *edits), "unsafe", reason, known=("zero_gradients",))


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


def is_flag(test: cst.BaseExpression) -> bool:
    """Names, attributes and numbers, compared or joined by ``and``: asking twice in a round gives the same."""
    if isinstance(test, cst.UnaryOperation):
        return isinstance(test.operator, cst.Not) and is_flag(test.expression)
    if isinstance(test, cst.BooleanOperation):
        return isinstance(test.operator, cst.And) and is_flag(test.left) and is_flag(test.right)
    if isinstance(test, cst.Comparison):
        return is_flag(test.left) and all(is_flag(c.comparator) for c in test.comparisons)
    while isinstance(test, cst.Attribute):
        test = test.value
    return isinstance(test, (cst.Name, cst.Integer, cst.Float))


def check_unchanged(flag: cst.BaseExpression, loop: cst.For) -> None:
    """Refuse a ``flag`` of which the loop assigns a part."""
    labels = {n.attr for n in walk(flag) if isinstance(n, cst.Attribute)}
    read = {n.value for n in walk(flag) if isinstance(n, cst.Name) and n not in labels}
    if any(bound is not loop for name in read for bound in assignments(loop, name)):
        raise Refuse("the flag around the branch changes in the loop")


def one_bool(condition: Condition) -> Condition:
    """The tensor part as one bool; where it has several elements, Python's test raises, too."""
    if condition.scalar:
        return condition
    return replace(condition, tensor=f"({condition.tensor}).reshape(())", scalar=True)


def _continues(branch: cst.If) -> bool:
    """Whether ``continue`` is all that ``branch`` does."""
    line = branch.body.body[0]
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    return len(branch.body.body) == 1 and branch.orelse is None and isinstance(small, cst.Continue)


def kept_steps(
    lines: Sequence[cst.CSTNode], loop: cst.For, editor: Editor, leaves: bool = False
) -> list[tuple[str, cst.Assign | cst.AugAssign]]:
    """The assignments of ``lines`` whose old value is kept: those of names that live on after a round.

    Where data ``leaves`` the loop, also ``n += 1`` of a local name, and names that only the loop makes. Raises Refuse
    where it does not fit.
    """
    function = editor.function_of(loop)
    if function is None:
        raise Refuse("the code is not in a function")
    start, inside = editor.location(loop), set(walk(loop))
    outside = [n for n in walk(function.body) if isinstance(n, cst.Name) and n not in inside]
    after = {n.value for n in outside if editor.location(n) > start}
    steps: list[tuple[str, cst.Assign | cst.AugAssign]] = []
    for line in lines:
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
        target = small.targets[0].target if isinstance(small, cst.Assign) and len(small.targets) == 1 else None
        if leaves and isinstance(small, cst.AugAssign) and type(small.operator) in OPERATORS:
            target = small.target
        if not isinstance(small, (cst.Assign, cst.AugAssign)) or not isinstance(target, cst.Name):
            raise Refuse(f"line {editor.location(line).line} of the loop does more than assign a name")
        if target.value in parameters(function) and isinstance(small, cst.AugAssign):
            raise Refuse(f"the loop changes the argument `{target.value}` in place")
        if is_bound_before(target.value, loop, editor) or (leaves and target.value in after):
            steps.append((target.value, small))
        elif target.value in after:
            raise Refuse(f"`{target.value}` has no value before the loop")
    if not steps:
        raise Refuse("nothing that the loop computes is kept")
    return steps


def is_bound_before(name: str, loop: cst.For, editor: Editor) -> bool:
    """Whether ``name`` is an argument, or has a value when the loop begins."""
    function, inside = editor.function_of(loop), set(walk(loop))
    if function is None or name in parameters(function):
        return function is not None
    start = editor.location(loop)
    return any(n not in inside and editor.location(n) < start for n in editor.assignments(function, name))


def _skip(
    branch: cst.If,
    condition: Condition,
    inside: str,
    steps: Sequence[tuple[str, cst.Assign | cst.AugAssign]],
    editor: Editor,
) -> tuple[Edit, ...]:
    """``if t: continue`` becomes ``skipped = t``, and the values of this round are not taken where it is true."""
    skipped, indent = editor.fresh("skipped"), editor.indent_of(branch)
    value = f"{condition.tensor} if {inside} else None" if inside else condition.tensor
    kept = [keep(name, assign, skipped, condition.python, editor) for name, assign in steps]
    return (editor.replace(branch, editor.statement(indent, f"{skipped} = ", value)), *kept)


def keep(name: str, assign: cst.Assign | cst.AugAssign, test: str, python: str, editor: Editor) -> Edit:
    """``name = value`` keeps the old value where ``test`` is true; behind the Python part, if there is one."""
    indent, value = editor.indent_of(assign), editor.code(assign.value)
    if isinstance(assign, cst.AugAssign):
        value = f"{name} {OPERATORS[type(assign.operator)]} {tight(value)}"
    elif editor.newline in value:
        value = assigned_value(assign, indent, editor)
    return editor.replace(assign, kept(name, value, test, python, indent, editor))


def assigned_value(statement: cst.CSTNode, indent: str, editor: Editor) -> str:
    """What ``name = value`` assigns, with its lines as they stand behind ``indent``."""
    return editor.dedented(statement, indent).strip().partition("=")[2].lstrip()


def kept(name: str, value: str, test: str, python: str, indent: str, editor: Editor) -> str:
    """The statement that keeps ``name`` where ``test`` is true; a long ``value`` that is needed twice has a name."""
    if not python:
        return editor.statement(indent, f"{name} = ", f"torch.where({test}, {name}, {value})")
    first = ""
    if editor.newline in value or len(value) > LONG:
        new = editor.fresh(f"new_{name}")
        first, value = editor.statement(indent, f"{new} = ", value) + editor.newline + indent, new
    rows = (f"torch.where({test}, {name}, {value})", f"if {python}", f"else {value}")
    line = f"{name} = {' '.join(rows)}"
    if len(indent) + len(line) > LINE_LENGTH:
        line = editor.lines(indent, f"{name} = (", *(f"\t{row}" for row in rows), ")")
    return first + line
