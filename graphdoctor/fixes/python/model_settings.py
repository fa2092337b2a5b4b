"""What a model of a library has to be told after it is built."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.rule import FixPlan, Hit, Refusal


def causal_loss(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``model = GPT2LMHeadModel(config)`` is followed by ``model.loss_type = "ForCausalLM"``, the loss that it falls
    back to, with a warning in each call."""
    statement = editor.statement_of(hit.place)
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1 or statement.value is not hit.place:
        return Refusal("The model is not given a name of its own, on which the loss could be set.")
    target, line = statement.targets[0].target, editor.parent(statement)
    if not isinstance(target, (cst.Name, cst.Attribute)):
        return Refusal("The model is not given a name of its own, on which the loss could be set.")
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
        raise Refuse("the statement shares its line with other code")
    code = editor.code(statement)
    text = editor.lines(editor.indent_of(statement), code, f'{editor.code(target)}.loss_type = "ForCausalLM"')
    reason = "This is the loss that transformers falls back to; its warning is no longer logged."
    return FixPlan((editor.replace(statement, text),), "unsafe", reason)
