"""``torch.autograd.grad`` of a value that one expression computes, as ``torch.func.grad_and_value`` of that expression.

Measured on torch 2.13: the value and the gradient are those of the original, also where gradients flow through both.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.analysis.uses import uses
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

_REASON = (
    "The gradient is computed with the value, in the graph, by a function of the expression, to which what other names "
    "hold is constant, also where it was computed from the same tensor."
)
#: What an expression does to the function around it.
_OF_FUNCTION = (cst.Await, cst.NamedExpr, cst.Yield)


def grad_and_value(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``y = f(x).sum()`` and ``torch.autograd.grad(y, x)[0]`` become ``y_grad, y = torch.func.grad_and_value(...)(x)``.

    Raises Refuse where it does not fit.
    """
    call, function = hit.place, editor.function_of(hit.place)
    if not isinstance(call, cst.Call) or function is None or dotted_name(call.func, editor) != "torch.autograd.grad":
        return Refusal("This is no call of `torch.autograd.grad`.")
    output, inside = _arguments(call, editor)
    bound = [a for a in editor.assignments(function, output) if isinstance(a, cst.Assign)]
    if len(bound) != 1 or not uses(bound[0], editor):
        raise Refuse(f"`{output}` is not what one statement of the function computes")
    assign = bound[0]
    here = editor.location(assign)
    if any(editor.location(other) > here for other in editor.assignments(function, inside)):
        raise Refuse(f"`{inside}` is bound again after `{output}`")
    _check_expression(assign.value, inside, function, editor)
    gradient = editor.fresh(f"{output}_grad")
    code = editor.code(assign.value)
    text = f"{gradient}, {output} = torch.func.grad_and_value(lambda {inside}: {code})({inside})"
    kept = any(a.keyword is not None and a.keyword.value == "create_graph" for a in call.args)
    given = gradient if kept else f"{gradient}.detach()"
    outer = editor.parent(call)
    first = isinstance(outer, cst.Subscript) and editor.code(outer) == f"{editor.code(call)}[0]"
    changed = editor.replace(outer, given) if first and outer is not None else editor.replace(call, f"({given},)")
    return FixPlan((*editor.torch_import(assign), editor.replace(assign, text), changed), "unsafe", _REASON)


def _arguments(call: cst.Call, editor: Editor) -> tuple[str, str]:
    """The names of what is differentiated, and by what."""
    named = {a.keyword.value: editor.code(a.value) for a in call.args if a.keyword is not None}
    positional = [a.value for a in call.args if a.keyword is None and not a.star]
    plain = [value.value for value in positional if isinstance(value, cst.Name)]
    of_one = len(plain) == len(positional) == len(call.args) - len(named) == 2
    if not of_one or set(named) - {"create_graph", "retain_graph"} or named.get("create_graph", "True") != "True":
        raise Refuse("it is not the gradient of one number by one tensor, each with a name")
    return plain[0], plain[1]


def _check_expression(value: cst.BaseExpression, inside: str, function: cst.FunctionDef, editor: Editor) -> None:
    """Refuse an expression that may depend on ``inside`` by another name."""
    read = {n.value for n in walk(value) if isinstance(n, cst.Name) and not editor.is_label(n)}
    if inside not in read or any(isinstance(n, _OF_FUNCTION) for n in walk(value)):
        raise Refuse(f"no expression of `{inside}` alone is differentiated")
    other = next((name for name in sorted(read - {inside}) if editor.assignments(function, name)), None)
    if other is not None:
        raise Refuse(f"`{other}`, which the function computes, may depend on `{inside}`, too")
