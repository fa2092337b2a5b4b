"""Layers that a random tensor skips (LayerDrop): every layer runs, and ``torch.where`` keeps the old values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes.analysis.conditions import Condition, Conditions
from graphdoctor.fixes.analysis.purity import called, calls
from graphdoctor.fixes.analysis.types import assigned
from graphdoctor.fixes.branches.asserts import only_statement
from graphdoctor.fixes.branches.branch import branch_of
from graphdoctor.fixes.branches.loop_steps import check_unchanged, is_flag, kept_steps, kept_text, start_value
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import assignments, names, names_in, target_names
from graphdoctor.fixes.loops.skips import one_bool
from graphdoctor.model.findings import Edit
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

_REASON = "Every layer runs, also one that is skipped; random numbers are drawn and gradients computed in all of them."
_NO_NONE = " What stood for the results of a skipped layer, None, is no longer there."


@dataclass(frozen=True)
class _Choice:
    """The test that decides whether a layer runs, the block that runs it, and the comments beside the two."""

    test: cst.BaseExpression
    body: cst.BaseSuite
    comments: tuple[str, ...]


def skip_layer(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``if not drop: x = layer(x)`` in a loop, where ``drop`` is ``self.training and drawn < p``, in a name or not.

    The name may also be set before: ``if self.training: if drawn < p: drop = True``, and the layer may run in the
    ``else`` of ``if drop: out = None``. Raises Refuse where it does not fit.
    """
    branch = branch_of(hit.place, editor)
    if not isinstance(branch, cst.If):
        return Refusal("This does not decide whether a layer of a for loop runs.")
    read = next((call for call in calls(branch) if called(call) in ("item", "tolist") and call is not hit.place), None)
    if read is not None:
        raise Refuse(f"`{editor.code(read)}` reads data, so the graph would end there all the same")
    conditions = Conditions(editor, hit)
    edits: list[Edit] = []
    name = _set_to(branch, "True")
    if name:
        outer = editor.parent(editor.parent(branch) or branch)
        condition = one_bool(conditions.split(branch.test))
        if condition.python or not isinstance(outer, cst.If):
            raise Refuse("the branch does not end a plain `if` on one flag")
        edits.append(_plain(branch, name, condition, editor))
        branch = _reader(outer, name, editor)
    loop, choice = _loop(branch, editor), _choice(branch)
    if loop is None or choice is None:
        return Refusal("This does not decide whether a layer of a for loop runs.")
    flag, skipped = _when_skipped(choice.test, loop, conditions)
    edits.append(editor.replace(branch, _all_run(choice, loop, flag, skipped, editor.indent_of(branch), editor)))
    reason = _REASON if branch.orelse is None else _REASON + _NO_NONE
    return FixPlan((*editor.torch_import(loop), *edits), "unsafe", reason, known=("zero_gradients",))


def _choice(branch: cst.If) -> _Choice | None:
    """``if t: x = layer(x)``, or ``if t: out = None`` with a layer in its ``else``; None for other branches."""
    if branch.orelse is None:
        return _Choice(branch.test, branch.body, _beside(branch.body))
    if not isinstance(branch.orelse, cst.Else):
        return None
    layer = branch.orelse.body
    assigned = {
        name for node in walk(layer) if isinstance(node, cst.AssignTarget) for name in target_names(node.target)
    }
    if not all(_is_none(line, assigned) for line in branch.body.body):
        return None
    denied = cst.UnaryOperation(cst.Not(), branch.test)
    return _Choice(denied, layer, (*_beside(branch.body), *_beside(layer)))


def _is_none(line: cst.CSTNode, assigned: set[str]) -> bool:
    """``out = None`` or ``out = (None, None)``, of a name that is ``assigned`` elsewhere too."""
    only = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    if not isinstance(only, cst.Assign) or not target_names(only.targets[0].target) <= assigned:
        return False
    values = [e.value for e in only.value.elements] if isinstance(only.value, cst.Tuple) else [only.value]
    is_name = isinstance(only.targets[0].target, cst.Name)
    return is_name and all(isinstance(value, cst.Name) and value.value == "None" for value in values)


def _loop(branch: cst.If, editor: Editor) -> cst.For | None:
    """The for loop that ``branch`` stands in itself."""
    block = editor.parent(branch)
    loop = editor.parent(block) if block is not None else None
    return loop if isinstance(loop, cst.For) and loop.orelse is None else None


def _set_to(branch: cst.If, value: str) -> str:
    """The name that ``branch`` sets to ``value`` and does nothing else."""
    only = only_statement(branch.body)
    target = only.targets[0].target if isinstance(only, cst.Assign) and len(only.targets) == 1 else None
    is_value = isinstance(only, cst.Assign) and isinstance(only.value, cst.Name) and only.value.value == value
    return target.value if is_value and isinstance(target, cst.Name) else ""


def _plain(branch: cst.If, name: str, condition: Condition, editor: Editor) -> Edit:
    """``if drawn < p: drop = True`` as ``drop = drawn < p``, with the comment of its first line."""
    return editor.replace(branch, "  ".join([f"{name} = {condition.tensor}", *_beside(branch.body)]))


def _reader(outer: cst.If, name: str, editor: Editor) -> cst.If:
    """The branch after ``outer``, in the same block, that tests ``name``."""
    block = editor.parent(outer)
    lines = list(block.body) if isinstance(block, cst.IndentedBlock) else []
    found = [n for n in lines[lines.index(outer) + 1 :] if name in names(n)] if outer in lines else []
    if len(found) != 1 or not isinstance(found[0], cst.If) or _choice(found[0]) is None:
        raise Refuse(f"`{name}` does more than decide whether a layer runs")
    return found[0]


def _all_run(choice: _Choice, loop: cst.For, flag: str, skipped: str, indent: str, editor: Editor) -> str:
    """The block of the layer without its test, in which the old values are kept where ``skipped`` is true."""
    lines = list(choice.body.body)
    steps = {step.statement: step for step in kept_steps(lines, loop, editor)}
    _check_read(choice, {name for step in steps.values() for name in step.kept}, loop, editor)
    for name in (name for step in steps.values() for name in step.kept):
        start = start_value(name, loop, editor)
        if isinstance(start, cst.Name) and start.value == "None":
            raise Refuse(f"`{name}` is None before the first layer, and `torch.where` takes tensors")
    made = list[str]()
    if not skipped.isidentifier():
        name = editor.fresh("skipped")
        made.append(editor.statement(indent, f"{name} = ", f"{skipped} if {flag} else None" if flag else skipped))
        skipped = name
    made += choice.comments
    for line in lines:
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
        if isinstance(line, cst.SimpleStatementLine):
            made += [text for empty in line.leading_lines for text in _comments(empty)]
        if isinstance(small, (cst.Assign, cst.AugAssign)) and small in steps:
            made.append(kept_text(steps[small], skipped, flag, indent, editor))
        else:
            made.append(editor.dedented(line, indent).strip())
    return editor.lines(indent, *made)


def _check_read(choice: _Choice, kept: set[str], loop: cst.For, editor: Editor) -> None:
    """Refuse where the loop reads, beside the layer, a name that had no value before the loop: after a layer that is
    skipped it has that of an earlier one."""
    inside = set(walk(choice.body))
    beside = names_in(n for n in walk(loop) if n not in inside and not (type(n) is cst.Name and editor.is_label(n)))
    for name in sorted(names_in(walk(choice.body)).bound.keys() & (beside.mentioned.keys() - beside.bound.keys())):
        if name not in kept:
            raise Refuse(f"`{name}` has no value before the loop")


def _beside(block: cst.BaseSuite) -> tuple[str, ...]:
    """The comment in the line that ends with the colon before ``block``."""
    return tuple(_comments(block.header)) if isinstance(block, cst.IndentedBlock) else ()


def _comments(line: cst.TrailingWhitespace | cst.EmptyLine) -> list[str]:
    return [line.comment.value] if line.comment is not None else []


def _when_skipped(test: cst.BaseExpression, loop: cst.For, conditions: Conditions) -> tuple[str, str]:
    """The flag without which nothing is skipped (may be empty), and the tensor that decides."""
    editor = conditions.editor
    is_or = isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.Or)
    either = [test.left, test.right] if isinstance(test, cst.BooleanOperation) and is_or else []
    if either and _denied(either[0]) is not None and is_flag(either[1]):
        found = _dropped(either[0], loop, conditions)
        if found is not None:
            check_unchanged(either[1], loop)
            return f"{found[0]} and {_opposite(either[1], editor)}", found[1]
    if either and is_flag(either[0]):
        check_unchanged(either[0], loop)
        return _opposite(either[0], editor), one_bool(conditions.split(either[1])).negated
    found = _dropped(test, loop, conditions)
    if found is not None:
        return found
    condition = one_bool(conditions.split(test))
    if condition.python:
        raise Refuse("a flag decides too whether the layer runs")
    return "", condition.negated


def _dropped(test: cst.BaseExpression, loop: cst.For, conditions: Conditions) -> tuple[str, str] | None:
    """The flag and the tensor of ``not (flag and drawn < p)``, also where these are in a name."""
    drop, editor = _denied(test), conditions.editor
    if drop is None:
        return None
    value = assigned(drop, editor) or drop
    if isinstance(value, cst.BooleanOperation) and isinstance(value.operator, cst.And) and is_flag(value.left):
        check_unchanged(value.left, loop)
        condition = one_bool(conditions.split(value.right))
        return editor.code(value.left), editor.code(drop) if isinstance(drop, cst.Name) else condition.tensor
    if not isinstance(drop, cst.Name):
        return None
    for outer in _flags_around(drop.value, loop, conditions):
        if not is_flag(outer.test) or outer.orelse is not None or editor.parent(outer) is not loop.body:
            raise Refuse(f"`{drop.value}` is not set behind one flag of the loop")
        check_unchanged(outer.test, loop)
        return editor.code(outer.test), drop.value
    return None


def _flags_around(name: str, loop: cst.For, conditions: Conditions) -> Iterator[cst.If]:
    """The ``if`` in which ``name`` gets its tensor, where the only other value it has is a False before."""
    bound = [a for a in assignments(loop, name) if isinstance(a, cst.Assign)]
    editor = conditions.editor
    if len(bound) != 2 or editor.code(bound[0].value) != "False":
        return
    if editor.code(bound[1].value) != "True" and not conditions.split(bound[1].value).scalar:
        raise Refuse("the condition is not shown to be one bool of a tensor")
    for outer in editor.ancestors(bound[1]):
        if isinstance(outer, cst.If) and _set_to(outer, "True") != name:
            yield outer
            return


def _denied(test: cst.BaseExpression) -> cst.BaseExpression | None:
    """The operand of ``not``."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return test.expression
    return None


def _opposite(flag: cst.BaseExpression, editor: Editor) -> str:
    inner = _denied(flag)
    if inner is not None:
        return editor.code(inner)
    code = editor.code(flag)
    return f"not ({code})" if isinstance(flag, cst.BooleanOperation) else f"not {code}"
