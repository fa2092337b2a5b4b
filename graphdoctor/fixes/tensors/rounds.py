"""Loops that data skips or leaves, with what they count and collect: the code behind the loop gets 0-d tensors.

``losses.append(loss)`` becomes a sum and a count, where the list is only summed, averaged and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import libcst as cst

from graphdoctor.fixes.analysis.conditions import tight
from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.analysis.purity import called, words
from graphdoctor.fixes.branches.asserts import only_statement
from graphdoctor.fixes.branches.branch import branch_of
from graphdoctor.fixes.branches.choose import Rewrite, first_fit
from graphdoctor.fixes.branches.finite_gradients import finite_unless
from graphdoctor.fixes.branches.loop_steps import Appended, kept, numbers, start_value
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.merged_parts import as_one
from graphdoctor.fixes.loops.exits import leave_in_round
from graphdoctor.fixes.loops.skips import Rounds, skip_in_round
from graphdoctor.fixes.loops.taken_rounds import take_in_round
from graphdoctor.fixes.proof.aliasing import is_changed_in
from graphdoctor.fixes.tensors.count_divisors import without_zero
from graphdoctor.fixes.tensors.number_flow import Flow
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find, walk

_ROWS = (["0"], ["dim=0"])
#: Methods whose result may share the memory of the tensor.
_VIEWS = words("contiguous detach expand flatten permute reshape squeeze t to transpose unsqueeze view")
_EMPTY = (
    "Where no round counts, nothing raises for an empty `{}`: its sum is 0 in the shape of a value, and its mean NaN "
    "or 0."
)


def keep_looping(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``for ...:`` with ``if t: continue`` in it, or ``if t:`` at its end. Raises Refuse where it does not fit."""
    rounds = skip_in_round(hit, editor)
    if isinstance(rounds, Refusal):
        taken = take_in_round(hit, editor)
        rounds = rounds if isinstance(taken, Refusal) else taken
    return _with_numbers(rounds, hit, editor)


def run_all_rounds(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``for ...:`` with ``if t: break`` or ``if t: return y`` somewhere in it. Raises Refuse where it does not fit."""
    return _with_numbers(leave_in_round(hit, editor), hit, editor)


def first_of_branch(hit: Hit, editor: Editor, *rewrites: Rewrite) -> FixPlan | Refusal:
    """The first that fits; where none does and the branch is a ``continue`` or ``break``, what speaks against that."""
    plan, branch = first_fit(hit, editor, *rewrites), branch_of(hit.place, editor)
    if isinstance(plan, FixPlan) or not isinstance(branch, cst.If) or branch.orelse is not None:
        return plan
    jump = only_statement(branch.body)
    if isinstance(jump, (cst.Break, cst.Continue)):
        return first_fit(hit, editor, keep_looping if isinstance(jump, cst.Continue) else run_all_rounds)
    return plan


def _with_numbers(rounds: Rounds | Refusal, hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """The plan, and the edits of what reads a counter or a list outside of the rounds."""
    if isinstance(rounds, Refusal):
        return rounds
    counters = numbers(rounds.steps, rounds.loop, editor)
    flow = Flow(hit, editor)
    flow.tensors |= {name for step in rounds.steps for name in step.kept if name not in counters}
    starts: list[Edit] = []
    for name in counters:
        uses = _uses(name, rounds, editor)
        for use in uses:
            flow.number(use)
        if uses:
            starts.append(_start(name, rounds.loop, editor))
    lists = [edit for one in rounds.appended for edit in _summed(one, rounds, flow, editor)]
    divisors = {
        name: f"{name}.clamp(min=1)" if _grows(name, rounds, editor) else f"torch.where({name} == 0, 1, {name})"
        for name in counters
    }
    divisors |= {count: f"{count}.clamp(min=1)" for _, count in (_names(one, editor) for one in rounds.appended)}
    edits = dict.fromkeys((*rounds.plan.edits, *starts, *lists, *(without_zero(e, divisors) for e in flow.edits)))
    changed = tuple(edits) if rounds.whole is None else as_one(list(edits), rounds.whole, editor)
    reason = " ".join((rounds.plan.reason, *(_EMPTY.format(one.listed) for one in rounds.appended)))
    return FixPlan(tuple(changed), rounds.plan.safety, reason, rounds.plan.known)


def _grows(name: str, rounds: Rounds, editor: Editor) -> bool:
    """Whether ``name`` begins with 0 and only grows by whole numbers that are written out."""
    first = start_value(name, rounds.loop, editor)
    steps = [step.statement for step in rounds.steps if name in step.kept]
    forms = {f"{name} + 1", f"1 + {name}"}
    return (
        first is not None
        and editor.code(first) == "0"
        and all(
            (isinstance(s, cst.AugAssign) and isinstance(s.operator, cst.AddAssign) and editor.code(s.value) == "1")
            or editor.code(s.value) in forms
            for s in steps
        )
    )


def _start(name: str, loop: cst.For, editor: Editor) -> Edit:
    """The number that a counter begins with as a tensor: there may be no round."""
    first = start_value(name, loop, editor)
    assert first is not None
    return editor.replace(first, f"torch.tensor({editor.code(first)})")


def _uses(name: str, rounds: Rounds, editor: Editor) -> Sequence[cst.Name]:
    """Where code outside of the loop reads what the loop has counted. Refuses other code of the loop that reads it."""
    loop, function = rounds.loop, editor.function_of(rounds.loop)
    assert function is not None
    own = {n for step in rounds.steps if name in step.kept for n in walk(step.statement)}
    assigned = [a for a in editor.assignments(function, name) if isinstance(a, cst.Assign)]
    own |= {n for a in assigned for target in a.targets for n in walk(target)}
    inside, begin = set(walk(loop)), editor.location(loop)
    outer = [o for o in editor.ancestors(loop) if isinstance(o, (cst.For, cst.While))]
    around = set(walk(outer[-1])) if outer else set()
    again = [a for a in editor.assignments(function, name) if editor.location(a) > begin and a not in inside]
    next_value = set(walk(again[0])) if again else set()
    found: list[cst.Name] = []
    for use in editor.mentions(function, name):
        if use in own or editor.is_label(use):
            continue
        if use in inside:
            raise Refuse(f"line {editor.location(use).line} of the loop reads `{name}`, which data decides")
        is_own = not again or editor.location(use) < editor.location(again[0]) or use in next_value
        if (editor.location(use) > begin and is_own) or use in around:
            found.append(use)
        elif editor.location(use) < begin:
            raise Refuse(f"line {editor.location(use).line} reads the number `{name}` before the loop")
    return found


def _summed(one: Appended, rounds: Rounds, flow: Flow, editor: Editor) -> Iterator[Edit]:
    """The edits that make a sum and a count of a list. Refuses a list that is more than that to its function."""
    name, function = one.listed, editor.function_of(rounds.loop)
    bound = editor.assignments(function, name) if function is not None else []
    if function is None or len(bound) != 1 or not isinstance(bound[0], cst.Assign) or name == "":
        raise Refuse(f"`{name}` is not shown to be a list of this function")
    if editor.code(bound[0].value) != "[]" or editor.location(bound[0]) > editor.location(rounds.loop):
        raise Refuse(f"`{name}` is not shown to be a list of this function")
    known = tensor_of(editor.value(one.value))
    if known is None:
        raise Refuse(f"`{editor.code(one.value)}` is not known to be tensor data")
    for base in _same_memory(one.value, function, editor):
        if _is_changed_later(base, one.statement, rounds, function, editor):
            raise Refuse(f"`{base}` is changed in place, which shows in what was appended before")
    total, count = _names(one, editor)
    indent = rounds.indent if rounds.indent is not None else editor.indent_of(one.statement)
    value = tight(editor.code(one.value) if rounds.python else finite_unless(rounds.test, one.value, editor))
    lines = (
        kept(total, f"{total} + {value}", rounds.test, rounds.python, indent, editor),
        kept(count, f"{count} + 1", rounds.test, rounds.python, indent, editor),
    )
    yield editor.replace(bound[0], f"{total}, {count} = 0, torch.tensor(0)")
    yield editor.replace(one.statement, (editor.newline + indent).join(lines))
    flow.tensors.add(total)
    own = {*walk(bound[0]), *walk(one.statement)}
    read = [use for use in editor.mentions(function, name) if use not in own and not editor.is_label(use)]
    reductions = [_read(use, known.ndim == 0, editor) for use in read]
    for node in (node for node, reduction in reductions if reduction != "count"):
        flow.tensor(node)
    for node in (node for node, reduction in reductions if reduction == "count"):
        flow.number_of(node, count)
    for node, reduction in reductions:
        if reduction != "count":
            yield from _put(node, total if reduction == "sum" else f"({total} / {count})", flow, editor)


def _same_memory(value: cst.BaseExpression, function: cst.FunctionDef, editor: Editor) -> frozenset[str]:
    """The names whose tensor ``value`` may be, or be a part of."""
    waiting, found = [value], set[str]()
    while waiting:
        node = waiting.pop()
        while isinstance(node, (cst.Attribute, cst.Subscript, cst.Call)):
            if isinstance(node, cst.Call) and called(node) not in _VIEWS:
                break
            node = node.func if isinstance(node, cst.Call) else node.value
        if isinstance(node, cst.Name) and node.value not in found:
            found.add(node.value)
            bound = editor.assignments(function, node.value)
            waiting += [one.value for one in bound if isinstance(one, cst.Assign)]
    return frozenset(found)


def _is_changed_later(
    base: str, appended: cst.CSTNode, rounds: Rounds, function: cst.FunctionDef, editor: Editor
) -> bool:
    """Whether the tensor ``base`` is changed in place when it is ``appended`` already: not before, in the same round
    that has made it."""
    places = [editor.location(s) for s in find(function, cst.SimpleStatementLine) if is_changed_in(s, base, editor)]
    blocks = [rounds.loop.body, *([rounds.whole.body] if rounds.whole is not None else [])]
    bound = [n for n in editor.assignments(function, base) if isinstance(n, cst.Assign)]
    made = [editor.location(n) for n in bound if editor.parent(editor.parent(n) or n) in blocks]
    is_before = bool(places) and bool(made) and min(made) < min(places) and max(places) < editor.location(appended)
    return bool(places) and not is_before


def _put(node: cst.BaseExpression, text: str, flow: Flow, editor: Editor) -> Iterator[Edit]:
    """``text`` in place of ``node``: in an edit that holds it, or as one."""
    edit = editor.replace(node, text)
    for at, other in enumerate(flow.edits):
        if other.start <= edit.start and edit.end <= other.end:
            flow.edits[at] = _with_text(other, editor.code(node), text)
            return
    yield edit


def _with_text(edit: Edit, code: str, text: str) -> Edit:
    """``edit`` with ``text`` for the expression ``code``, and with its strings as they are."""
    indent = " " * (edit.start[1] - 1)
    before = f"if True:\n{indent}" if indent else ""
    tree = cst.parse_module(before + edit.text).visit(_Expression(code, text))
    return replace(edit, text=tree.code.removeprefix(before))


class _Expression(cst.CSTTransformer):
    """An expression, however it is spaced, written in another way."""

    def __init__(self, code: str, text: str) -> None:
        self.code, self.new = _unspaced(code), cst.parse_expression(text)
        self.kind = type(cst.parse_expression(code))

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        if type(original_node) is self.kind and _unspaced(cst.Module([]).code_for_node(original_node)) == self.code:
            return self.new
        return super().on_leave(original_node, updated_node)


def _unspaced(code: str) -> str:
    return "".join(code.split())


def _names(one: Appended, editor: Editor) -> tuple[str, str]:
    """The names of the sum and the count of a list."""
    return editor.fresh(f"{one.listed}_total"), editor.fresh(f"{one.listed}_count")


def _read(use: cst.Name, is_number: bool, editor: Editor) -> tuple[cst.BaseExpression, str]:
    """What is asked of a list: the expression, and "count", "sum" or "mean". Refuses anything else."""
    user = editor.parent(use)
    call = editor.parent(user) if isinstance(user, cst.Arg) else None
    if isinstance(user, (cst.UnaryOperation, cst.If, cst.BooleanOperation, cst.IfExp)):
        return use, "count"
    if isinstance(call, cst.Call) and dotted_name(call.func, editor) in ("builtins.len", "builtins.sum"):
        if len(call.args) == 1:
            return call, "count" if called(call) == "len" else "sum"
    elif isinstance(call, cst.Call) and dotted_name(call.func, editor) == "torch.stack":
        outer = editor.parent(call)
        whole = editor.parent(outer) if outer is not None else None
        given = [editor.code(a) for a in call.args[1:]]
        rest: list[str] | None = None
        if isinstance(whole, cst.Call) and isinstance(outer, cst.Attribute) and whole.func is outer:
            rest = [editor.code(a) for a in whole.args]
        elif isinstance(whole, cst.Call) and dotted_name(whole.func, editor) in ("torch.mean", "torch.sum"):
            rest = [editor.code(a) for a in whole.args[1:]]
        is_whole = rest in _ROWS or (rest == [] and is_number)
        if (
            isinstance(whole, cst.Call)
            and called(whole) in ("mean", "sum")
            and is_whole
            and (not given or given in _ROWS)
        ):
            return whole, called(whole)
    raise Refuse(f"line {editor.location(use).line} does more with `{use.value}` than a sum, a mean or a count of it")
