"""``if isinstance(s, torch.Tensor): s = s.item()``: the tensor goes on, where all code does the same with either."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name, is_builtin
from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.branches.asserts import only_statement
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.tensors.number_flow import Flow
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal

_REASON = (
    "A detached 0-d tensor takes the place of the number; results may change where the two promote dtypes differently."
)
_OTHER = Refusal("The number does not take the place of what may be a tensor or a number.")


def either_goes_on(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``s = s.item()`` under ``isinstance``, or in a ``try`` that keeps what has no ``item``. Raises Refuse."""
    call, statement = hit.place, editor.statement_of(hit.place)
    tensor = call.func.value if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) else None
    if not isinstance(call, cst.Call) or called(call) != "item" or call.args or not isinstance(tensor, cst.Name):
        return _OTHER
    if not isinstance(statement, cst.Assign) or statement.value is not call or len(statement.targets) != 1:
        return _OTHER
    target, outer = statement.targets[0].target, _outer(statement, editor)
    if not isinstance(target, cst.Name) or outer is None:
        return _OTHER
    name, known = tensor.value, tensor_of(editor.value(tensor))
    kept = f"{name}.detach()" if known is not None and known.ndim == 0 else f"{name}.detach().reshape(())"
    if isinstance(outer, cst.If) and target.value == name and _asks_for_tensor(outer.test, name, editor):
        edit = editor.replace(call, kept)
    elif isinstance(outer, cst.Try) and _keeps_others(outer, target.value, name, editor):
        line = f"{target.value} = {kept} if isinstance({name}, torch.Tensor) else {name}"
        edit = editor.replace(outer, line)
    else:
        return _OTHER
    _check_uses(target.value, outer, hit, editor)
    return FixPlan((*editor.torch_import(outer), edit), "unsafe", _REASON, known=("zero_gradients",))


def _outer(statement: cst.Assign, editor: Editor) -> cst.If | cst.Try | None:
    """The ``if`` or ``try`` of which ``statement`` is all, in the block of its function."""
    line = editor.parent(statement)
    block = editor.parent(line) if line is not None else None
    outer = editor.parent(block) if block is not None else None
    function = editor.function_of(statement)
    if not isinstance(outer, (cst.If, cst.Try)) or outer.body is not block or outer.orelse is not None:
        return None
    is_whole = only_statement(outer.body) is statement and function is not None
    return outer if is_whole and function is not None and editor.parent(outer) is function.body else None


def _asks_for_tensor(test: cst.BaseExpression, name: str, editor: Editor) -> bool:
    """``isinstance(name, torch.Tensor)`` or ``torch.is_tensor(name)``."""
    if not isinstance(test, cst.Call) or not test.args or editor.code(test.args[0].value) != name:
        return False
    if dotted_name(test.func, editor) == "torch.is_tensor":
        return len(test.args) == 1
    is_instance = dotted_name(test.func, editor) == "builtins.isinstance" and len(test.args) == 2
    return is_instance and dotted_name(test.args[1].value, editor) == "torch.Tensor"


def _keeps_others(node: cst.Try, target: str, name: str, editor: Editor) -> bool:
    """Whether the one handler, for what has no ``item``, gives ``target`` what ``name`` is."""
    if len(node.handlers) != 1 or node.finalbody is not None:
        return False
    (handler,) = node.handlers
    only = only_statement(handler.body)
    if target == name:
        is_kept = isinstance(only, cst.Pass)
    else:
        is_kept = only is not None and editor.code(only) == f"{target} = {name}"
    caught = handler.type
    return (
        is_kept
        and caught is not None
        and editor.code(caught) == "AttributeError"
        and is_builtin("AttributeError", editor)
    )


def _check_uses(name: str, outer: cst.CSTNode, hit: Hit, editor: Editor) -> None:
    """Refuse code after ``outer`` that does one thing with a number and another with a tensor, or binds the name."""
    function = editor.function_of(outer)
    end = editor.location(outer).end_line
    if function is None or any(editor.location(b).line > end for b in editor.assignments(function, name)):
        raise Refuse(f"`{name}` is assigned more than once")
    for use in editor.mentions(function, name):
        if editor.location(use).line <= end or editor.is_label(use):
            continue
        flow = Flow(hit, editor)
        flow.follow(use, name)
        if flow.edits or editor.function_of(use) is not function:
            raise Refuse(f"line {editor.location(use).line} needs to know whether `{name}` is a number")
