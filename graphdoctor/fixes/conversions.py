"""Tensor data that becomes a Python number, or a copy, where the tensor itself would do."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.branch import branch_of, rewrite_branch
from graphdoctor.fixes.editor import Editor, walk
from graphdoctor.fixes.purity import called
from graphdoctor.fixes.scope import assignments
from graphdoctor.static.events import Call
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.static.values import is_tensor

_KEPT = (
    "The 0-d tensor takes the place of the number: gradients now flow through it, and results may change "
    "where the two promote dtypes differently."
)


def keep_tensor(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """Drop ``.item()`` or ``float()`` where the number is only an operand of arithmetic: ``x / t.item()``.

    Where the number decides a branch, the branch is rewritten.
    """
    call = hit.place
    if branch_of(call, editor) is not None:
        return rewrite_branch(hit, editor)
    if not isinstance(call, cst.Call):
        return Refusal("The conversion is implicit, so there is no call to drop.")
    receiver = _receiver(call)
    if receiver is None:
        return Refusal(f"`{editor.code(call)}` does more than read one number, so it cannot be dropped.")
    problem = _use_problem(call, editor)
    if problem:
        return Refusal(problem)
    return FixPlan((editor.replace(call, _operand(receiver, editor)),), "unsafe", _KEPT)


def clone_tensor(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``copy.deepcopy(t)`` of a tensor becomes ``t.clone()``."""
    call, event = hit.place, hit.event
    if not isinstance(call, cst.Call) or not isinstance(event, Call) or len(call.args) != 1:
        return Refusal("The copy is not a plain call with one argument.")
    if not event.args or not is_tensor(event.args[0]):
        return Refusal("What is copied is not known to be a tensor; copy it outside the compiled code.")
    text = f"{_operand(call.args[0].value, editor)}.clone()"
    reason = "The values are the same; gradients flow through the clone, and it is no leaf of its own."
    return FixPlan((editor.replace(call, text),), "unsafe", reason)


def _receiver(call: cst.Call) -> cst.BaseExpression | None:
    """The tensor in ``t.item()`` and ``float(t)``."""
    if isinstance(call.func, cst.Attribute):
        return call.func.value if called(call) == "item" and not call.args else None
    return call.args[0].value if called(call) == "float" and len(call.args) == 1 else None


def _operand(node: cst.BaseExpression, editor: Editor) -> str:
    simple = isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) or bool(node.lpar)
    return editor.code(node) if simple else f"({editor.code(node)})"


def _use_problem(node: cst.BaseExpression, editor: Editor, depth: int = 0) -> str:
    """Why the number cannot stay a tensor; empty when every use of it is arithmetic."""
    user = editor.parent(node)
    if isinstance(user, cst.BinaryOperation):
        return ""
    if isinstance(user, cst.UnaryOperation) and not isinstance(user.operator, cst.Not):
        return _use_problem(user, editor, depth)
    if isinstance(user, cst.AugAssign):
        return ""
    if isinstance(user, cst.Assign) and depth == 0:
        return _name_problem(user, editor)
    if isinstance(user, cst.Return):
        return "The caller gets a Python number; return the tensor and convert it outside the compiled code."
    if isinstance(user, (cst.Comparison, cst.BooleanOperation, cst.If, cst.While, cst.IfExp)):
        return "The number decides a branch; make the branch a torch.where first."
    if isinstance(user, (cst.Arg, cst.Slice, cst.Index)):
        return "The number is an argument or an index, where a tensor may mean something else."
    return "The number is used where a tensor may mean something else."


def _name_problem(assign: cst.Assign, editor: Editor) -> str:
    """The number goes to a name: every use of that name must be arithmetic."""
    target = assign.targets[0].target
    function = editor.function_of(assign)
    if len(assign.targets) != 1 or not isinstance(target, cst.Name) or function is None:
        return "The number is stored where other code may read it."
    if assignments(function, target.value) != [assign]:
        return f"`{target.value}` is assigned more than once."
    for node in walk(function):
        if isinstance(node, cst.Name) and node.value == target.value and node is not target:
            problem = _use_problem(node, editor, depth=1)
            if problem:
                return problem
    return ""
