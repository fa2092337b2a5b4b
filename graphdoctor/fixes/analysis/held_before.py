"""Whether a name has a value when a statement begins, and which value, as far as assignments and defaults show it."""

from __future__ import annotations

from itertools import pairwise

import libcst as cst

from graphdoctor.fixes.analysis.conditions import conjuncts
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.scope import assignments, parameters
from graphdoctor.syntax.walk import find


def is_bound_before(name: str, statement: cst.If | cst.Match | cst.For, editor: Editor) -> bool:
    """Whether ``name`` is an attribute or an argument, or has a value when ``statement`` begins."""
    function = editor.function_of(statement)
    if "." in name or function is None or name in parameters(function):
        return "." in name or function is not None
    start = editor.location(statement)
    earlier = (n for n in editor.assignments(function, name) if editor.location(n) < start)
    return any(not never_reaches(n, statement, editor) for n in earlier)


def bound_in_block(name: str, statement: cst.CSTNode, editor: Editor) -> cst.Assign | None:
    """The assignment that gave ``name`` its value: the last one in the block of ``statement`` before it."""
    line = editor.parent(statement)
    block = editor.parent(line) if line is not None else None
    body = list(block.body) if isinstance(block, cst.IndentedBlock) else []
    at = next((number for number, other in enumerate(body) if other is line), 0)
    for before in reversed(body[:at]):
        if assignments(before, name):
            only = before.body[0] if isinstance(before, cst.SimpleStatementLine) and len(before.body) == 1 else None
            is_plain = isinstance(only, cst.Assign) and [editor.code(t.target) for t in only.targets] == [name]
            return only if isinstance(only, cst.Assign) and is_plain else None
    return None


def never_reaches(one: cst.CSTNode, other: cst.CSTNode, editor: Editor) -> bool:
    """Whether a call that runs ``one`` does not come to ``other``, which stands after it: on the other side of a
    branch, or after one that returns or raises there.
    """
    around, outside = (one, *editor.ancestors(one)), {other, *editor.ancestors(other)}
    for arm, branch in pairwise(around):
        if isinstance(branch, cst.If) and arm is not branch.test and arm not in outside:
            block = arm.body if isinstance(arm, cst.Else) else arm
            last = _last(block) if isinstance(block, cst.BaseSuite) else None
            if branch in outside or isinstance(last, (cst.Return, cst.Raise)):
                return True
    return False


def values_before(name: str, branch: cst.If | cst.Match, editor: Editor) -> list[cst.BaseExpression]:
    """The values, the last one first; without None where the code has asked for it."""
    function = editor.function_of(branch)
    if function is None:
        return []
    found = _values(name, branch, function, editor)
    return [v for v in found if editor.code(v) != "None" or not _is_no_longer_none(name, branch, function, editor)]


def _values(name: str, branch: cst.CSTNode, function: cst.FunctionDef, editor: Editor) -> list[cst.BaseExpression]:
    start, found = editor.location(branch), []
    for bound in reversed(editor.assignments(function, name)):
        if editor.location(bound) >= start or never_reaches(bound, branch, editor):
            continue
        value = plain_value(bound)
        found += [value] if value is not None else []
        if _surely_runs(bound, name, branch, editor):
            return found
    default = parameters(function).get(name)
    return [*found, default] if default is not None else found


def plain_value(bound: cst.CSTNode) -> cst.BaseExpression | None:
    """The value of ``name = value`` and ``name: type = value``; None for other ways to bind a name."""
    if isinstance(bound, cst.Assign) and all(isinstance(t.target, cst.Name) for t in bound.targets):
        return bound.value
    return bound.value if isinstance(bound, cst.AnnAssign) else None


def _surely_runs(bound: cst.CSTNode, name: str, branch: cst.CSTNode, editor: Editor) -> bool:
    """Whether ``bound`` has run whenever ``branch`` begins, or was left out because ``name`` was not None."""
    around = {branch, *editor.ancestors(branch)}
    for outer in (bound, *editor.ancestors(bound)):
        if outer in around:
            return True
        fills_in = isinstance(outer, cst.If) and editor.code(outer.test) == f"{name} is None"
        is_plain = isinstance(outer, (cst.BaseSmallStatement, cst.SimpleStatementLine, cst.IndentedBlock, cst.With))
        if not fills_in and not is_plain:
            return False
    return False


def _is_no_longer_none(name: str, branch: cst.CSTNode, function: cst.FunctionDef, editor: Editor) -> bool:
    """Whether the branch stands under ``name is not None``, or after a return where it is None."""
    around = {branch, *editor.ancestors(branch)}
    for node in find(function, cst.If):
        if node is branch or node.body in around:
            if f"{name} is not None" in map(editor.code, conjuncts(node.test)):
                return True
        elif editor.parent(node) in around and editor.location(node) < editor.location(branch):
            leaves = isinstance(_last(node.body), (cst.Return, cst.Raise, cst.Continue, cst.Break))
            if leaves and editor.code(node.test) == f"{name} is None":
                return True
    return False


def _last(block: cst.BaseSuite) -> cst.CSTNode:
    """The last statement of ``block``."""
    last = block.body[-1]
    return last.body[-1] if isinstance(last, cst.SimpleStatementLine) else last
