"""Calls that check tensor data: kept in eager, an assert of the graph under compile."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.analysis.try_blocks import unhandled
from graphdoctor.fixes.analysis.types import only_tensor
from graphdoctor.fixes.branches.asserts import constant_text
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.layout import on_one_line
from graphdoctor.fixes.python.guard import guard_statement
from graphdoctor.static.domain.events import Assert, Call
from graphdoctor.static.domain.values import Mapping, Seq
from graphdoctor.static.rule import FixPlan, Hit, Refusal


def check_in_graph(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``torch._check_tensor_all(cond, message)`` gets the twin ``torch._assert_async(cond.all(), "...")``."""
    call, statement = hit.place, editor.statement_of(hit.place)
    if not isinstance(call, cst.Call) or not isinstance(statement, cst.Expr) or statement.value is not call:
        return Refusal("The check is part of an expression, so it cannot be made inside the graph.")
    if called(call).startswith("_check") and "tensor" not in called(call):
        return Refusal(f"`{called(call)}` takes no tensor, in eager either; `torch._assert_async` does.")
    if not call.args or any(arg.star for arg in call.args):
        return Refusal("The condition of the check is not written out.")
    unhandled(call, editor)
    condition = call.args[0].value
    if isinstance(hit.event, Call) and hit.event.args:
        only_tensor(condition, hit.event.args[0], editor)
    simple = isinstance(condition, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) or bool(condition.lpar)
    code = on_one_line(condition, editor)
    message = _message(call, editor) or f"check failed: {code}"
    quoted = repr(message) if '"' in message else f'"{message}"'
    check = f"torch._assert_async({code if simple else f'({code})'}.all(), {quoted})"
    lines = ["if torch.compiler.is_compiling():", f"\t{check}", "else:", f"\t{editor.deepen(statement)}"]
    text = editor.lines(editor.indent_of(statement), *lines)
    reason = "In eager nothing changes; a compiled check that fails raises RuntimeError, whose text shows no values."
    return FixPlan((*editor.torch_import(call), editor.replace(statement, text)), "unsafe", reason)


def constant_check(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``torch._check(n > 0, lambda: f"got {n}")`` gets a twin for compile, whose message is constant.

    So does one whose message is a text, which is no function.
    """
    call, statement = hit.place, editor.statement_of(hit.place)
    if not isinstance(call, cst.Call) or not isinstance(statement, cst.Expr) or statement.value is not call:
        return Refusal("The check is part of an expression.")
    if len(call.args) != 2 or any(a.star for a in call.args) or not isinstance(call.args[1].value, _MESSAGES):
        return Refusal("The message of the check is neither a string nor a lambda in the call itself.")
    unhandled(call, editor)
    condition = on_one_line(call.args[0].value, editor)
    message = _message(call, editor) or f"check failed: {condition}"
    quoted = repr(message) if '"' in message else f'"{message}"'
    check = f"{editor.code(call.func)}({condition}, lambda: {quoted})"
    lines = ["if torch.compiler.is_compiling():", f"\t{check}", "else:", f"\t{editor.deepen(statement)}"]
    text = editor.lines(editor.indent_of(statement), *lines)
    reason = "In eager nothing changes; the text of a compiled check that fails shows no values."
    return FixPlan((*editor.torch_import(call), editor.replace(statement, text)), "unsafe", reason, guards_output=True)


#: How a message is written that is known without running anything.
_MESSAGES = (cst.Lambda, cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)


def skip_comparison(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``torch.testing.assert_close(a, b)`` stays in eager; compiled code does not compare."""
    plan = guard_statement(hit, editor)
    if isinstance(plan, FixPlan):
        name = called(hit.place) if isinstance(hit.place, cst.Call) else "the check"
        return FixPlan(plan.edits, "unsafe", f"In eager nothing changes; under compile `{name}` is left out.")
    return plan


def assert_length(event: Assert, editor: Editor) -> FixPlan | Refusal:
    """``assert terms`` on a list, tuple or dict becomes ``assert len(terms) > 0``."""
    test = event.node.test if isinstance(event.node, cst.Assert) else None
    # A generator, a map or a zip is true and has no length.
    has_length = isinstance(event.test, Mapping) or (
        isinstance(event.test, Seq) and event.test.kind in ("list", "tuple")
    )
    if not isinstance(test, (cst.Name, cst.Attribute)) or not has_length:
        return Refusal(
            "The asserted value is an object, or not always a list: its truth may be something other than its length."
        )
    edit = editor.replace(test, f"len({editor.code(test)}) > 0")
    return FixPlan((edit,), "safe", "The truth of a list, tuple or dict is whether it has elements.")


def _message(call: cst.Call, editor: Editor) -> str:
    """The constant part of the message, which may be made by a lambda."""
    if len(call.args) < 2:
        return ""
    value = call.args[1].value
    text = constant_text(value.body if isinstance(value, cst.Lambda) else value, editor)
    return text.encode("unicode_escape").decode() if "\n" in text else text
