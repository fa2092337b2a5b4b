"""An ``autograd.Function`` as Dynamo traces it: static methods in place of class methods, no tensor given twice."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name, is_builtin
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.value_functions import is_tensor
from graphdoctor.static.domain.values import Class, Function
from graphdoctor.static.rule import FixPlan, Refusal
from graphdoctor.syntax.walk import walk

METHODS = ("forward", "backward", "setup_context")
_REASON = "The methods do not read `cls`, and are called in the same way."


def static_methods(function: Class, editor: Editor) -> FixPlan:
    """The class methods of ``function``, an ``autograd.Function`` of this file. Raises Refuse where it does not fit."""
    found = (function.info.lookup(name) for name in METHODS)
    methods = [each.info for each in found if isinstance(each, Function) and "classmethod" in each.info.markers]
    edits: list[Edit] = []
    for method in methods:
        if method.module.source.path != editor.module.path or not isinstance(method.node, cst.FunctionDef):
            raise Refuse(f"`{method.name}` stands in another file: write `@staticmethod` there, without `cls`")
        edits += _static(cst.ensure_type(editor.module.of(method.node), cst.FunctionDef), editor)
    return FixPlan(tuple(edits), "safe", _REASON)


def give_once(call: cst.Call, editor: Editor) -> FixPlan | Refusal:
    """``Loss.apply(x, x)`` gets a copy the second time."""
    seen: set[str] = set()
    edits: list[Edit] = []
    for value in (a.value for a in call.args if isinstance(a.value, cst.Name)):
        if value.value in seen and is_tensor(editor.value(value)):
            edits.append(editor.replace(value, f"{value.value}.clone()"))
        seen.add(value.value)
    if not edits:
        return Refusal("What is given twice is not known to be a tensor.")
    reason = "It gets a copy the second time: what it writes there, or returns of it, is no longer the first tensor."
    return FixPlan(tuple(edits), "unsafe", reason)


def _static(node: cst.FunctionDef, editor: Editor) -> Sequence[Edit]:
    """The edits of the decorator and of the first parameter."""
    named = [each.decorator for each in node.decorators]
    if len(named) != 1 or dotted_name(named[0], editor) != "builtins.classmethod":
        raise Refuse(f"`{node.name.value}` has other decorators, which may need the class")
    own, *others = (*node.params.posonly_params, *node.params.params, None)
    read = {"super", "__class__", "locals", "vars", "eval", "exec"} | ({own.name.value} if own is not None else set())
    if own is None or others[0] is None or any(isinstance(n, cst.Name) and n.value in read for n in walk(node.body)):
        raise Refuse(f"`{node.name.value}` reads the class: call its other methods by the name of the class instead")
    if not is_builtin("staticmethod", editor):
        raise Refuse("the name staticmethod may stand for something else in this file")
    begin, end = editor.location(own), editor.location(others[0])
    left_out = Edit(editor.path, (begin.line, begin.column), (end.line, end.column), "")
    return editor.replace(named[0], "staticmethod"), left_out
