"""Random numbers of Python that Dynamo does not trace, or that decide a branch, in the form that it does."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from graphdoctor.fixes.analysis.uses import uses
from graphdoctor.fixes.branches.branch import branch_of, rewrite_any
from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.loops.layer_drop import skip_layer
from graphdoctor.fixes.tensors.number_flow import Flow
from graphdoctor.fixes.tensors.rounds import keep_looping, run_all_rounds
from graphdoctor.static.rule import FixPlan, Hit, Refusal

_SAME = "In eager the same number is drawn; under compile it is drawn when the call begins."
_OTHER_STREAM = Refusal("Torch has another generator, so the numbers would change; draw with torch, or pass them in.")


def traced_draw(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``random.random()`` becomes ``random.uniform(0.0, 1.0)``: the same number of the same generator.

    CPython: ``uniform(a, b)`` returns ``a + (b - a) * random()``.
    """
    call = hit.place
    if not isinstance(call, cst.Call) or editor.code(call.func) != "random.random" or call.args:
        return _OTHER_STREAM
    return FixPlan((editor.replace(call, "random.uniform(0.0, 1.0)"),), "unsafe", _SAME)


def traced_choice(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``random.choice([1, 2, 3])`` in arithmetic with tensors becomes an element of a tensor, at a traced place.

    CPython: ``choice(s)`` is ``s[_randbelow(len(s))]``, ``randint(0, n)`` is ``_randbelow(n + 1)``.
    """
    call = hit.place
    if not isinstance(call, cst.Call) or editor.code(call.func) != "random.choice" or len(call.args) != 1:
        return _OTHER_STREAM
    items = call.args[0].value
    if not isinstance(items, (cst.List, cst.Tuple)) or not items.elements:
        return _OTHER_STREAM
    if not all(isinstance(e.value, (cst.Integer, cst.Float)) for e in items.elements):
        return Refusal("The choices are not all number literals, so no tensor can hold them.")
    place = f"torch.as_tensor(random.randint(0, {len(items.elements) - 1}))"
    flow = Flow(hit, editor)
    text = f"torch.tensor({editor.code(items)}).take({place})"
    flow.follow(call, text)
    return FixPlan((*editor.torch_import(call), *flow.edits), "unsafe", f"A 0-d tensor takes its place. {_SAME}")


def choose_by_draw(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``if random.random() < p: x = f(x)`` becomes ``torch.where`` with the number as a tensor."""
    asked = deciding_use(hit.place, editor)
    plan = _rewritten(replace(hit, node=asked), editor)
    drawn = traced_draw(hit, editor) if asked is not hit.place else plan
    if isinstance(plan, Refusal) or isinstance(drawn, Refusal) or drawn is plan:
        return plan
    return replace(plan, edits=(*plan.edits, *drawn.edits))


def deciding_use(place: cst.CSTNode, editor: Editor) -> cst.CSTNode:
    """``place`` in the test of a branch, or the one read of the name that it is given there. Raises Refuse."""
    if branch_of(place, editor) is not None:
        return place
    assign = editor.parent(place)
    if not isinstance(assign, cst.Assign):
        raise Refuse("no branch tests the number")
    asked = [use for use in uses(assign, editor) if branch_around(use, editor) is not None]
    if len(asked) != 1:
        raise Refuse("the number does not decide one branch")
    return asked[0]


def only_decides(place: cst.CSTNode, editor: Editor) -> bool:
    """Whether the number at ``place`` is for branches alone: in their tests, or compared, ``coin = draw() < p``, and
    the result tested by branches.
    """
    if branch_of(place, editor) is not None:
        return True
    outer = editor.parent(place)
    while isinstance(outer, (cst.Comparison, cst.ComparisonTarget, cst.BooleanOperation)):
        outer = editor.parent(outer)
    if not isinstance(outer, cst.Assign):
        return False
    try:
        read = uses(outer, editor)
    except Refuse:
        return False
    return bool(read) and all(branch_around(use, editor) is not None for use in read)


def branch_around(node: cst.CSTNode, editor: Editor) -> cst.CSTNode | None:
    """The branch in whose test ``node`` stands, as an operand of a comparison or not."""
    outer = editor.parent(node)
    return branch_of(outer if isinstance(outer, cst.ComparisonTarget) else node, editor)


def rewrite_choice(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """The branch on a number that is drawn becomes ``torch.where``, in a loop or not."""
    return first_fit(hit, editor, keep_looping, run_all_rounds, skip_layer, rewrite_any)


def _rewritten(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    plan = rewrite_choice(hit, editor)
    if isinstance(plan, Refusal) or any("is_compiling()" in edit.text for edit in plan.edits):
        # What is left out under compile draws nothing there.
        return plan
    return replace(plan, reason=f"{plan.reason} {_SAME}")
