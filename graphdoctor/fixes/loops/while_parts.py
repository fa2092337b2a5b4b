"""The parts of a while loop on tensor data: what runs before its test in each round, the test, what runs after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes.branches.branch_arms import statements
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import parameters
from graphdoctor.syntax.walk import walk


@dataclass(frozen=True)
class WhileLoop:
    """``leaves`` where the loop ends when ``test`` is true; ``returned`` is what it then returns, if it does."""

    node: cst.While
    function: cst.FunctionDef
    test: cst.BaseExpression
    before: Sequence[cst.CSTNode]
    after: Sequence[cst.CSTNode]
    leaves: bool
    returned: cst.BaseExpression | None = None


def while_loop_at(place: cst.CSTNode, editor: Editor) -> WhileLoop | None:
    """The loop in whose test ``place`` stands, or which ends where it is true; None where there is none.

    Raises Refuse where it does not fit.
    """
    test = place
    for outer in editor.ancestors(place):
        if not isinstance(outer, cst.BaseExpression):
            break
        test = outer
    loop, function = editor.parent(test), editor.function_of(place)
    if isinstance(loop, cst.If) and loop.test is test:
        return _left_inside(loop, function, editor)
    if not isinstance(loop, cst.While) or loop.test is not test or function is None:
        return None
    if loop.orelse is not None:
        raise Refuse("the loop has an else branch")
    return WhileLoop(loop, function, loop.test, (), list(statements(loop.body)), False)


def _left_inside(branch: cst.If, function: cst.FunctionDef | None, editor: Editor) -> WhileLoop | None:
    """``while True:`` with ``if t: break`` or ``if t: return y`` in it."""
    block = editor.parent(branch)
    loop = editor.parent(block) if isinstance(block, cst.IndentedBlock) else None
    if not isinstance(loop, cst.While) or function is None or not isinstance(block, cst.IndentedBlock):
        return None
    small = list(statements(branch.body))
    if len(small) != 1 or branch.orelse is not None or not isinstance(small[0], (cst.Break, cst.Return)):
        return None
    if editor.code(loop.test) not in ("True", "1") or loop.orelse is not None:
        raise Refuse("the loop has a test of its own")
    returned = small[0].value if isinstance(small[0], cst.Return) else None
    if isinstance(small[0], cst.Return) and returned is None:
        raise Refuse("the loop returns nothing")
    at = list(block.body).index(branch)
    before = [s for line in block.body[:at] for s in _small(line)]
    after = [s for line in block.body[at + 1 :] for s in _small(line)]
    if any(isinstance(n, (cst.Break, cst.Continue, cst.Return)) for s in (*before, *after) for n in walk(s)):
        raise Refuse("the loop ends in more than one place")
    return WhileLoop(loop, function, branch.test, before, after, True, returned)


def _small(line: cst.CSTNode) -> Sequence[cst.CSTNode]:
    return line.body if isinstance(line, cst.SimpleStatementLine) else [line]


def counters(found: WhileLoop, editor: Editor) -> Sequence[str]:
    """The names that count rounds: a literal before the loop, ``n += 1`` in it, read in its test. They become tensors.

    Refuses one that is read where a tensor may mean something else.
    """
    body = (*found.before, *found.after)
    counted = [
        s.target.value for s in body
        if isinstance(s, cst.AugAssign) and isinstance(s.target, cst.Name) and isinstance(s.value, cst.Integer)
    ]  # fmt: skip
    return [name for name in dict.fromkeys(counted) if _is_counter(name, found, editor)]


def _is_counter(name: str, found: WhileLoop, editor: Editor) -> bool:
    bound = editor.assignments(found.function, name)
    inside = set(walk(found.node))
    outside = [node for node in bound if node not in inside]
    is_number = len(outside) == 1 and isinstance(outside[0], cst.Assign) and isinstance(outside[0].value, cst.Integer)
    if name in parameters(found.function) or not is_number:
        return False
    tested = set(walk(found.test))
    for use in editor.mentions(found.function, name):
        written = any(isinstance(editor.parent(use), kind) for kind in (cst.AssignTarget, cst.AugAssign))
        operand = isinstance(editor.parent(use), cst.BinaryOperation)
        if use not in tested and not written and not operand and not editor.is_label(use):
            raise Refuse(f"`{name}` counts the rounds and is read in line {editor.location(use).line}")
    return True
