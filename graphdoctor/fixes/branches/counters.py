"""Counters on a module, as buffers: a number that changes in each call recompiles, a tensor does not."""

from __future__ import annotations

import re
from dataclasses import replace

import libcst as cst

from graphdoctor.fixes.analysis.conditions import Conditions
from graphdoctor.fixes.analysis.purity import is_own
from graphdoctor.fixes.branches.asserts import only_statement
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Const
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

_SUPER_INIT = re.compile(r"super\([^()]*\)\.__init__")


def count_in_buffer(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``self.step = 0`` in ``__init__`` becomes a buffer, where the class only counts with it or computes.

    Raises Refuse where it does not fit.
    """
    target = hit.place
    owner = next((n for n in editor.ancestors(target) if isinstance(n, cst.ClassDef)), None)
    if owner is None or not editor.code(target).startswith("self."):
        return Refusal("The counter is not an attribute of a module of this file.")
    name = editor.code(target)
    init = next((n for n in walk(owner) if isinstance(n, cst.FunctionDef) and n.name.value == "__init__"), None)
    calls = [editor.code(n.func) for n in walk(init) if isinstance(n, cst.Call)] if init is not None else []
    if init is None or not any(_SUPER_INIT.fullmatch(call) for call in calls):
        return Refusal("The class has no `__init__` that calls the one of nn.Module.")
    starts = [
        n for n in walk(init)
        if isinstance(n, cst.Assign) and [editor.code(t.target) for t in n.targets] == [name]
        and isinstance(n.value, (cst.Integer, cst.Float))
    ]  # fmt: skip
    if len(starts) != 1:
        return Refusal(f"`__init__` does not set `{name}` to a number.")
    for node in walk(owner):
        if isinstance(node, cst.Attribute) and editor.code(node) == name:
            if not _may_be_tensor(node, editor):
                raise Refuse(f"line {editor.location(node).line} needs `{name}` as a Python number")
            if isinstance(editor.parent(node), (cst.Assign, cst.Return)):
                # `old = self.step` would be the tensor that `self.step += 1` changes.
                raise Refuse(f"line {editor.location(node).line} keeps `{name}` as it is there")
    if isinstance(starts[0].value, cst.Integer):
        for node in walk(owner):
            if isinstance(node, cst.AugAssign) and editor.code(node.target) == name and _makes_fraction(node, editor):
                raise Refuse(f"line {editor.location(node).line} makes a fraction of `{name}`, which starts as an int")
    attribute = name.removeprefix("self.")
    kept = editor.location(starts[0].targets[0])
    for target in editor.every(cst.AssignTarget):
        if editor.location(target) != kept and _sets_number(target, attribute, owner, editor):
            raise Refuse(
                f"line {editor.location(target).line} sets `{editor.code(target.target)}`, which a buffer refuses"
            )
    text = f'self.register_buffer("{attribute}", torch.tensor({editor.code(starts[0].value)}), persistent=False)'
    reason = (
        f"`{name}` is a tensor for other code too, which cannot set it to a number any more, and moves with the module."
    )
    return FixPlan((*editor.torch_import(owner), editor.replace(starts[0], text)), "unsafe", reason, known=("unsaved",))


def count_by_condition(branch: cst.CSTNode | None, hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``if t: self.step += 1`` becomes ``self.step += torch.where(t, 1, 0)`` with the counter in a buffer.

    Raises Refuse where it does not fit.
    """
    counts = only_statement(branch.body) if isinstance(branch, cst.If) else None
    is_sum = isinstance(counts, cst.AugAssign) and isinstance(counts.operator, (cst.AddAssign, cst.SubtractAssign))
    if not isinstance(branch, cst.If) or not isinstance(counts, cst.AugAssign) or not is_sum:
        return Refusal("The branch does more than count.")
    is_alone = branch.orelse is None and not editor.code(branch).startswith("elif")
    if not is_alone or not isinstance(counts.value, cst.Integer):
        return Refusal("The branch does more than count.")
    kept = count_in_buffer(replace(hit, node=counts.target), editor)
    if isinstance(kept, Refusal):
        return kept
    condition = Conditions(editor, hit).split(branch.test)
    if condition.python:
        raise Refuse("the branch tests a number of Python too")
    name, by = editor.code(counts.target), editor.code(counts.value)
    operator = "+=" if isinstance(counts.operator, cst.AddAssign) else "-="
    test = condition.without_dimensions(condition.tensor)
    line = editor.statement(editor.indent_of(branch), f"{name} {operator} ", f"torch.where({test}, {by}, 0)")
    reason = f"Each call counts, by {by} or 0. {kept.reason}"
    return FixPlan((*kept.edits, editor.replace(branch, line)), "unsafe", reason, known=kept.known)


def _may_be_tensor(node: cst.Attribute, editor: Editor) -> bool:
    """The start, the target of ``+=``, and operands of arithmetic that is assigned or returned."""
    outer: cst.CSTNode | None = editor.parent(node)
    while isinstance(outer, cst.BinaryOperation):
        outer = editor.parent(outer)
    return isinstance(outer, (cst.AssignTarget, cst.AugAssign, cst.Assign, cst.Return))


def _makes_fraction(change: cst.AugAssign, editor: Editor) -> bool:
    """Whether ``/=``, or ``+=`` with a float: in place, a tensor of whole numbers cannot take what that gives."""
    if isinstance(change.operator, cst.DivideAssign):
        return True
    fractions = (cst.Float, cst.Divide)
    kinds = {
        type(o.value).__name__ if isinstance(o, Const) else getattr(o, "kind", None) or getattr(o, "dtype", None)
        for o in options(editor.value(change.value))
    }
    return "float" in kinds or any(isinstance(node, fractions) for node in walk(change.value))


def _sets_number(target: cst.AssignTarget, attribute: str, owner: cst.ClassDef, editor: Editor) -> bool:
    """Whether ``target`` is set to what may be a number: the attribute of ``owner``, or of what may be one."""
    left = target.target
    if not isinstance(left, cst.Attribute) or left.attr.value != attribute:
        return False
    within = (editor.location(node) for node in editor.ancestors(target) if isinstance(node, cst.ClassDef))
    if is_own(left) and editor.location(owner) not in within:
        return False
    assigned = cst.ensure_type(editor.parent(target), cst.Assign).value
    return not (isinstance(assigned, cst.BinaryOperation) and editor.code(left) in map(editor.code, walk(assigned)))
