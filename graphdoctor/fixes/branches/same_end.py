"""What all sides of a branch end with: ``out.append(v)`` or ``out["key"] = v``, where only the value differs.

Two sides that do nothing but give one name a value. And a branch that ends the round of a loop, whose other side is the
rest of the round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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


def rest_of_round(branch: cst.CSTNode, editor: Editor) -> Sequence[cst.BaseStatement]:
    """The statements behind ``if t: out.append(a); continue`` up to the end of the loop; none for other branches."""
    block = editor.parent(branch)
    if not isinstance(branch, cst.If) or branch.orelse is not None or not isinstance(block, cst.IndentedBlock):
        return ()
    *before, last = branch_arms.statements(branch.body)
    if not before or not isinstance(last, cst.Continue) or not isinstance(editor.parent(block), cst.For):
        return ()
    return list(block.body)[list(block.body).index(branch) + 1 :]


def with_rest(branch: cst.If, rest: Sequence[cst.BaseStatement]) -> cst.If:
    """The branch without its ``continue``, and ``rest`` as its ``else``."""
    if not rest:
        return branch
    *before, last = branch.body.body
    kept = (
        [s for s in last.body if not isinstance(s, cst.Continue)] if isinstance(last, cst.SimpleStatementLine) else []
    )
    lines = [*before, *([cst.SimpleStatementLine(kept)] if kept else [])]
    return cst.If(branch.test, cst.IndentedBlock(lines), cst.Else(cst.IndentedBlock(rest)))


def one_name(node: cst.If) -> tuple[cst.Assign, cst.Assign] | None:
    """The statements of ``if t: y = a`` and ``else: y = b``; None for sides that do more."""
    blocks = [node.body, node.orelse.body] if isinstance(node.orelse, cst.Else) else []
    made = [statement for block in blocks for statement in branch_arms.statements(block)]
    if len(made) != 2 or not isinstance(made[0], cst.Assign) or not isinstance(made[1], cst.Assign):
        return None
    first, second = made[0].targets, made[1].targets
    is_name = len(first) == len(second) == 1 and isinstance(first[0].target, cst.Name)
    return (made[0], made[1]) if is_name and first[0].target.deep_equals(second[0].target) else None


def sides(node: cst.If) -> Iterator[cst.BaseSuite | None]:
    """The blocks of an ``if`` with its ``elif`` and ``else``; None at the end where there is no ``else``."""
    yield node.body
    if isinstance(node.orelse, cst.If):
        yield from sides(node.orelse)
    else:
        yield node.orelse.body if node.orelse is not None else None


def read_in(block: cst.BaseSuite) -> Iterator[cst.CSTNode]:
    """What the statements of ``block`` read: the values of assignments, the whole of others."""
    for statement in branch_arms.statements(block):
        yield statement.value if isinstance(statement, cst.Assign) else statement


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
