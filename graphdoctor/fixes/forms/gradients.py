"""Autograd's bookkeeping on values inside the graph, where only eager code needs it."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.analysis.purity import called, calls, words
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.guards import EAGER_ONLY
from graphdoctor.model.findings import Safety
from graphdoctor.static.domain.value_functions import is_tensor
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find, walk

#: Functions of torch that make a tensor without a history.
_NEW = words("arange empty eye full linspace ones rand randint randn tensor zeros")
_TAKEN_ELSEWHERE = (
    "Who else gets `{name}` may take gradients of it: what they are taken of must require them before the call."
)
_OWN_GRADIENTS = "The function takes gradients: what it takes them of must require them before the call."
_REASON = "In eager nothing changes; under compile `{name}` does not require gradients of its own."


def grad_flag_in_eager(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``y.requires_grad_()``, ``y.requires_grad = True`` and ``y.retain_grad()`` run in eager only."""
    statement = editor.statement_of(hit.place)
    function = editor.function_of(hit.place)
    if _takes_gradients(function):
        return Refusal(_OWN_GRADIENTS)
    flagged = _flagged(statement, hit.place)
    if flagged is not None and not _stays_inside(flagged, function):
        return Refusal(_TAKEN_ELSEWHERE.format(name=editor.code(flagged)))
    if isinstance(statement, cst.Assign):
        return _assigned(hit, statement, editor)
    call = hit.place
    if isinstance(statement, cst.Expr) and statement.value is call and _sets_flag(call):
        assert isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute)
        return FixPlan(editor.guard(statement), "unsafe", _REASON.format(name=editor.code(call.func.value)))
    if isinstance(statement, cst.Expr) and statement.value is call and _calls(call, "retain_grad"):
        assert isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute)
        reason = f"In eager nothing changes; under compile `{editor.code(call.func.value)}.grad` is not kept."
        return FixPlan(editor.guard(statement), "unsafe", reason)
    return Refusal("This is not a statement that only asks for gradients.")


def _flagged(statement: cst.CSTNode | None, place: cst.CSTNode) -> cst.BaseExpression | None:
    """What requires gradients from ``statement`` on."""
    target = statement.targets[0].target if isinstance(statement, cst.Assign) else None
    if isinstance(target, cst.Attribute) and target.attr.value == "requires_grad":
        return target.value
    if not isinstance(statement, (cst.Assign, cst.Expr)) or not _sets_flag(place):
        return None
    called_on = cst.ensure_type(place, cst.Call).func
    return target if target is not None else cst.ensure_type(called_on, cst.Attribute).value


def _stays_inside(tensor: cst.BaseExpression, function: cst.FunctionDef | None) -> bool:
    """Whether only the function itself can take gradients of ``tensor``.

    That is a name of its own, which it neither returns nor stores, nor gives to another function beside what may be
    computed from it.
    """
    if function is None or not isinstance(tensor, cst.Name) or tensor.value in _parameters(function):
        return False
    name = tensor.value
    for node in walk(function.body):
        if isinstance(node, cst.Call) and len(node.args) > 1 and any(_holds(arg.value, name) for arg in node.args):
            return False
        if isinstance(node, (cst.Return, cst.Yield)) and node.value is not None and _holds(node.value, name):
            return False
        is_stored = isinstance(node, cst.Assign) and not isinstance(node.targets[0].target, cst.Name)
        if is_stored and _holds(cst.ensure_type(node, cst.Assign).value, name):
            return False
    return True


def _parameters(function: cst.FunctionDef) -> set[str]:
    return {param.name.value for param in find(function.params, cst.Param)}


def _holds(node: cst.BaseExpression | cst.From, name: str) -> bool:
    """Whether a value is what ``name`` stands for, or a container that is written with it."""
    if isinstance(node, (cst.Tuple, cst.List, cst.Dict)):
        return any(_holds(each.value, name) for each in node.elements)
    return isinstance(node, cst.Name) and node.value == name


def _assigned(hit: Hit, statement: cst.Assign, editor: Editor) -> FixPlan | Refusal:
    target, value = statement.targets[0].target, statement.value
    if len(statement.targets) != 1:
        return Refusal("The statement assigns more than one target.")
    if isinstance(target, cst.Attribute) and target.attr.value == "requires_grad":
        return FixPlan(editor.guard(statement), "unsafe", _REASON.format(name=editor.code(target.value)))
    if value is hit.place and _sets_flag(value) and isinstance(target, cst.Name):
        assert isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute)
        arguments = ", ".join(editor.code(a.value) for a in value.args)
        line = editor.parent(statement)
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
            raise Refuse("the statement shares its line with other code")
        first = f"{target.value} = {editor.code(value.func.value)}"
        flag = f"\t{target.value}.requires_grad_({arguments})"
        text = editor.lines(editor.indent_of(statement), first, f"if {EAGER_ONLY}:", flag)
        edits = (*editor.torch_import(statement), editor.replace(statement, text))
        return FixPlan(edits, "unsafe", _REASON.format(name=target.value))
    return Refusal("This is not a statement that only asks for gradients.")


def asked_leaf(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``y.grad_fn is not None`` becomes ``not y.is_leaf``: a tensor with a history is none of the leaves."""
    read = hit.place
    if not isinstance(read, cst.Attribute) or read.attr.value != "grad_fn":
        return Refusal("No attribute that Dynamo traces has the same meaning.")
    tensor = editor.operand(read.value)
    asked, negated = f"{tensor}.is_leaf", f"not {tensor}.is_leaf"
    outer = editor.parent(read)
    if isinstance(outer, cst.Comparison) and outer.left is read and len(outer.comparisons) == 1:
        operator, other = outer.comparisons[0].operator, outer.comparisons[0].comparator
        if isinstance(operator, (cst.Is, cst.IsNot)) and editor.code(other) == "None":
            return _leaf(hit, outer, asked if isinstance(operator, cst.Is) else negated, editor)
    if isinstance(outer, cst.UnaryOperation) and isinstance(outer.operator, cst.Not):
        return _leaf(hit, outer, asked, editor)
    if isinstance(outer, (cst.If, cst.While, cst.IfExp)) and outer.test is read:
        return _leaf(hit, read, negated, editor)
    return Refusal("`grad_fn` is used for more than a test for None; do it outside the compiled function.")


def _leaf(hit: Hit, asked: cst.BaseExpression, text: str, editor: Editor) -> FixPlan:
    assert isinstance(hit.place, cst.Attribute)
    safety: Safety = "safe" if is_tensor(editor.value(hit.place.value)) else "unsafe"
    return FixPlan((editor.replace(asked, text),), safety, "A tensor has a `grad_fn` exactly when it is not a leaf.")


def plain_constant(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``nn.Parameter(torch.ones(8))`` in forward becomes ``torch.ones(8)``: made in each call, it is never trained."""
    call = hit.place
    if not isinstance(call, cst.Call) or called(call) != "Parameter" or not call.args or call.args[0].keyword:
        return Refusal(
            "Build it in `__init__`: its weights, which each call initialises anew, would be initialised once."
        )
    options = [editor.code(a).rstrip(", ").replace(" ", "") for a in call.args[1:]]
    if options not in ([], ["requires_grad=False"], ["False"]):
        return Refusal("The parameter has options that a tensor does not have.")
    if not options and _takes_gradients(editor.function_of(call)):
        return Refusal(_OWN_GRADIENTS)
    reason = "The tensor is the same; it is no parameter, and what is computed from it alone requires no gradient."
    value = call.args[0].value
    is_new = isinstance(value, cst.Call) and dotted_name(value.func, editor).removeprefix("torch.") in _NEW
    # A parameter has no history.
    is_plain = is_new or (_calls(value, "detach") and is_tensor(editor.value(value)))
    text = editor.code(value) if is_plain else f"{editor.operand(value)}.detach()"
    return FixPlan((editor.replace(call, text),), "unsafe", reason)


def _takes_gradients(function: cst.FunctionDef | None) -> bool:
    return function is not None and any(called(call) in ("backward", "grad") for call in calls(function))


def _sets_flag(node: cst.CSTNode) -> bool:
    return _calls(node, "requires_grad_")


def _calls(node: cst.CSTNode, method: str) -> bool:
    return isinstance(node, cst.Call) and called(node) == method and isinstance(node.func, cst.Attribute)
