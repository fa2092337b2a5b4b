"""What all sides of a branch end with: ``out.append(v)`` or ``out["key"] = v``, where only the value differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from graphdoctor.fixes.analysis.purity import called, calls
from graphdoctor.fixes.branches import branch_arms
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.static.domain.value_functions import is_tensor


def same_end(first: cst.If, editor: Editor) -> tuple[Mapping[cst.CSTNode, cst.BaseExpression], str]:
    """The last statements of the sides with their values, and the statement with braces where the value stands.

    Both are empty where the sides end in different ways, or there is no ``else``.
    """
    ends = [list(branch_arms.statements(block))[-1] if block is not None else None for block in sides(first)]
    found = [_store(end, editor) if end is not None else None for end in ends]
    texts = {text for _, text in filter(None, found)}
    if None in found or len(texts) != 1:
        return {}, ""
    return {e: f[0] for e, f in zip(ends, found, strict=True) if e is not None and f is not None}, texts.pop()


def sides(node: cst.If) -> Iterator[cst.BaseSuite | None]:
    """The blocks of an ``if`` with its ``elif`` and ``else``; None at the end where there is no ``else``."""
    yield node.body
    if isinstance(node.orelse, cst.If):
        yield from sides(node.orelse)
    else:
        yield node.orelse.body if node.orelse is not None else None


def _store(statement: cst.CSTNode, editor: Editor) -> tuple[cst.BaseExpression, str] | None:
    """The value, and the statement around it, of a list that gets longer or a dict that gets an entry."""
    if isinstance(statement, cst.Expr):
        call = statement.value
        if not isinstance(call, cst.Call) or called(call) != "append" or len(call.args) != 1:
            return None
        place, value, after = call.func, call.args[0].value, "({})"
        if call.args[0].star or call.args[0].keyword is not None:
            return None
    elif isinstance(statement, cst.Assign) and len(statement.targets) == 1:
        place, value, after = statement.targets[0].target, statement.value, " = {}"
        if not isinstance(place, cst.Subscript) or is_tensor(editor.value(place.value)):
            return None
    else:
        return None
    text = editor.code(place)
    return None if any(calls(place)) or "{" in text or editor.newline in text else (value, text + after)
