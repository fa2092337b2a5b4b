"""Python numbers that vary from call to call: as 0-d tensors they are inputs of the graph, and nothing is guarded."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.types import is_tensor_like
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import parameters
from graphdoctor.static.domain.events import CompiledCall
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Function, Instance, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal

_REASON = (
    "The number becomes a 0-d tensor of torch's default dtype, to which a float is rounded; all else in the call stays."
)


def tensor_argument(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``compiled(x, step * 0.1)`` becomes ``compiled(x, torch.tensor(step * 0.1))``.

    Only where the function does nothing with the number but arithmetic with another tensor.
    Raises Refuse where it does not fit.
    """
    event, place = hit.event, hit.place
    argument = editor.parent(place)
    if not isinstance(event, CompiledCall) or not isinstance(argument, cst.Arg) or argument.star:
        return Refusal("The number is an attribute that other code may read; keep it in a buffer written with fill_.")
    function = _function(event.target, editor)
    name = _parameter(function, argument, editor)
    if editor.assignments(function, name):
        raise Refuse(f"`{name}` is assigned again in the function")
    for use in editor.mentions(function.body, name):
        if not editor.is_label(use):
            _check(use, editor)
    text = f"torch.tensor({editor.code(place)})"
    return FixPlan((*editor.torch_import(place), editor.replace(place, text)), "unsafe", _REASON)


def _function(target: Value, editor: Editor) -> cst.FunctionDef:
    """What is compiled, when it is one function or one module of this file."""
    (first, *others) = options(target)
    owner, name = "", ""
    if isinstance(first, Function):
        owner, name = first.info.owner.name if first.info.owner is not None else "", first.info.name
    elif isinstance(first, Instance):
        owner, name = first.info.name, "forward"
    found = [
        n for n in editor.every(cst.FunctionDef) if n.name.value == name and _owner(n, editor) == owner
    ]  # fmt: skip
    if others or len(found) != 1:
        raise Refuse("what is compiled is not one function of this file")
    return found[0]


def _owner(function: cst.FunctionDef, editor: Editor) -> str:
    """The name of the class that ``function`` is a method of."""
    block = editor.parent(function)
    owner = editor.parent(block) if block is not None else None
    return owner.name.value if isinstance(owner, cst.ClassDef) else ""


def _parameter(function: cst.FunctionDef, argument: cst.Arg, editor: Editor) -> str:
    """The parameter of ``function`` that ``argument`` goes to."""
    if argument.keyword is not None:
        return argument.keyword.value
    call = editor.parent(argument)
    assert isinstance(call, cst.Call)
    names = list(parameters(function))
    at = list(call.args).index(argument) + (1 if _owner(function, editor) else 0)
    if at >= len(names) or any(a.star for a in call.args):
        raise Refuse("it is not clear which parameter the number goes to")
    return names[at]


def _check(use: cst.Name, editor: Editor) -> None:
    """Refuse a ``use`` that is not an operand next to a tensor."""
    user = editor.parent(use)
    if isinstance(user, cst.BinaryOperation):
        other = user.right if user.left is use else user.left
        if is_tensor_like(other, editor):
            return
    raise Refuse(f"line {editor.location(use).line} does more with `{use.value}` than arithmetic with a tensor")
