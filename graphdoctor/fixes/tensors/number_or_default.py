"""``try: v = int(t)`` with a default for what is no number, as a choice in the graph."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import is_builtin
from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.analysis.types import is_tensor_like
from graphdoctor.fixes.branches.asserts import only_statement
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.tensors.number_flow import Flow
from graphdoctor.static.rule import FixPlan, Hit, Refusal

#: The exceptions of ``int`` for NaN and for infinity.
_RAISED = {"ValueError", "OverflowError"}
_REASON = "A detached 0-d tensor takes the place of the number; NaN and infinity give the default."


def number_or_default(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``try: v = int(t)`` / ``except (ValueError, OverflowError): v = 0`` becomes ``torch.where``."""
    call, statement = hit.place, editor.statement_of(hit.place)
    line = editor.parent(statement)
    block = editor.parent(line) if line is not None else None
    outer = editor.parent(block) if block is not None else None
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Name) or called(call) != "int":
        return Refusal("This makes no whole number of a tensor.")
    if not isinstance(outer, cst.Try) or outer.body is not block or len(call.args) != 1:
        return Refusal("It does not stand in a try alone.")
    if only_statement(outer.body) is not statement or outer.orelse is not None or outer.finalbody is not None:
        return Refusal("The try does more than make the number.")
    if not isinstance(statement, cst.Assign) or statement.value is not call or len(statement.targets) != 1:
        return Refusal("The try does more than make the number.")
    target, tensor = statement.targets[0].target, call.args[0].value
    if not isinstance(target, cst.Name) or not is_tensor_like(tensor, editor):
        return Refusal("The number is not kept in a name.")
    default = _default(outer, target.value, editor)
    value = f"{editor.operand(tensor)}.detach()"
    text = f"{target.value} = torch.where({value}.isfinite(), torch.trunc({value}), {default})"
    flow = Flow(hit, editor)
    function = editor.function_of(outer)
    inside = set(editor.mentions(outer, target.value))
    bound = editor.assignments(function, target.value) if function is not None else []
    if len(bound) != 1 + len(outer.handlers):
        raise Refuse(f"`{target.value}` is assigned more than once")
    for use in editor.mentions(function, target.value) if function is not None else ():
        if use not in inside and not editor.is_label(use):
            flow.follow(use, use.value)
    edits = (*editor.torch_import(outer), editor.replace(outer, text), *flow.edits)
    return FixPlan(edits, "unsafe", _REASON, known=("zero_gradients",))


def _default(node: cst.Try, name: str, editor: Editor) -> str:
    """The number that every handler gives to ``name``. Refuses where not all that ``int`` raises is handled."""
    caught: set[str] = set()
    values: set[str] = set()
    for handler in node.handlers:
        caught |= _names(handler.type, editor)
        only = only_statement(handler.body)
        is_name = isinstance(only, cst.Assign) and [editor.code(t.target) for t in only.targets] == [name]
        if not isinstance(only, cst.Assign) or not is_name or not isinstance(only.value, (cst.Integer, cst.Float)):
            raise Refuse("a handler does more than give a default number")
        values.add(editor.code(only.value))
    if not caught >= _RAISED or not all(is_builtin(error, editor) for error in _RAISED):
        raise Refuse("what `int` raises for NaN or infinity is not handled")
    if len(values) != 1:
        raise Refuse("the handlers give several defaults")
    return values.pop()


def _names(caught: cst.BaseExpression | None, editor: Editor) -> set[str]:
    if caught is None:
        return set(_RAISED)
    found = {editor.code(e.value) for e in caught.elements} if isinstance(caught, cst.Tuple) else {editor.code(caught)}
    if found & {"Exception", "BaseException"}:
        return set(_RAISED)
    return found | ({"OverflowError"} if "ArithmeticError" in found else set())
