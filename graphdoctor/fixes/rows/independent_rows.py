"""Checks that a loop computes each of the rows that a mask selects on its own, and gives back nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from graphdoctor.fixes.analysis.purity import RANDOM, called, root, words
from graphdoctor.fixes.analysis.selected_rows import masks_in, searches
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import names, target_names
from graphdoctor.fixes.rows.loop_body import Body
from graphdoctor.fixes.rows.row_sums import ADDS, RowSum
from graphdoctor.syntax.walk import walk

#: Operators that combine rows, unless they are given the last dimension.
_JOINS = words("""
    amax amin argmax argmin argsort cumprod cumsum flip log_softmax logsumexp max mean median min norm prod roll
    softmax sort std sum topk unique var
""")
_ALWAYS_JOIN = words("bincount cat mm outer t transpose")
_LAST = frozenset({"-1", "1"})


def padded_names(statements: Sequence[cst.CSTNode], editor: Editor) -> frozenset[str]:
    """The names that hold selected rows, or where they are."""
    padded: set[str] = set()
    for statement in statements:
        if isinstance(statement, cst.Assign):
            bound = {name for target in statement.targets for name in target_names(target.target)}
            is_sum = isinstance(statement.value, cst.Call) and called(statement.value) in ADDS
            padded = padded | bound if not is_sum and has_rows(statement.value, padded, editor) else padded - bound
    return frozenset(padded)


def has_rows(value: cst.CSTNode, padded: set[str] | frozenset[str], editor: Editor) -> bool:
    """Whether ``value`` selects rows, or reads a name that holds some."""
    selects = [*searches(value, editor), *masks_in(value, editor)]
    return bool(selects) or bool(names(value) & padded)


def check_statements(
    body: Body, add: RowSum, padded: frozenset[str], loop: cst.For, function: cst.FunctionDef, editor: Editor
) -> None:
    """Refuses a loop that gives back more than the sum, or whose rows depend on each other."""
    made: set[str] = set()
    for statement, _ in body.statements:
        line = editor.location(statement).line
        if statement is not add.statement:
            if isinstance(statement, cst.Assign):
                if _is_apart(statement, body, padded, editor):
                    continue
                if not all(target_names(t.target) for t in statement.targets):
                    raise Refuse(f"line {line} of the loop stores rows for other code")
                made |= {name for t in statement.targets for name in target_names(t.target)}
            elif not _changes(statement, made) and not _is_apart(statement, body, padded, editor):
                raise Refuse(f"line {line} of the loop does more than compute the rows")
        for node in walk(statement):
            _check_rows(node, padded, editor)
    check_outside(made, loop, function, editor)


def _is_apart(statement: cst.BaseSmallStatement, body: Body, padded: frozenset[str], editor: Editor) -> bool:
    """Whether a statement has nothing to do with the rows and runs in each round anyway: ``load[e] = mask.sum()``."""
    jumps = (cst.Return, cst.Break, cst.Continue, cst.Raise, cst.Global, cst.Nonlocal, cst.Del)
    return statement in body.always and not isinstance(statement, jumps) and not has_rows(statement, padded, editor)


def _changes(statement: cst.CSTNode, made: set[str]) -> bool:
    """Whether a statement changes what the loop made in place: ``h *= w``, ``h.mul_(w)``."""
    if isinstance(statement, cst.AugAssign):
        return isinstance(statement.target, cst.Name) and statement.target.value in made
    value = statement.value if isinstance(statement, cst.Expr) else None
    return isinstance(value, cst.Call) and called(value).endswith("_") and root(value.func) in made


def _check_rows(node: cst.CSTNode, padded: frozenset[str], editor: Editor) -> None:
    """Refuses what depends on the number of rows, combines rows, or draws a random number for each."""
    if isinstance(node, (cst.Yield, cst.Await, cst.NamedExpr, cst.Lambda, cst.BaseComp)) and names(node) & padded:
        raise Refuse(f"`{editor.code(node)}` may do more than compute the rows")
    counted = node.value if isinstance(node, cst.Subscript) else None
    is_shape = isinstance(counted, cst.Attribute) and counted.attr.value == "shape"
    if is_shape and names(node) & padded and editor.code(node).endswith("[0]"):
        raise Refuse(f"`{editor.code(node)}` is how many rows are selected")
    part = node.slice[0].slice if isinstance(node, cst.Subscript) and names(node.value) & padded else None
    if isinstance(part, cst.Slice) and (part.lower, part.upper, part.step) != (None, None, None):
        raise Refuse(f"`{editor.code(node)}` is a part of the rows")
    if not isinstance(node, cst.Call) or not has_rows(node, padded, editor):
        return
    name, given = called(node), [editor.code(a.value) for a in node.args]
    if name in ("len", "numel", "nelement") or (name == "size" and given in ([], ["0"])):
        raise Refuse(f"`{editor.code(node)}` is how many rows are selected")
    if name in RANDOM:
        raise Refuse(f"`{editor.code(node)}` draws a number for each row")
    owner = node.func.value if isinstance(node.func, cst.Attribute) else node
    is_rows = bool(names(owner) & padded) or bool([*masks_in(owner, editor), *searches(owner, editor)])
    is_function = root(node.func) in {"torch", *editor.torch_names}
    if not is_rows and not is_function:
        return
    if name in _ALWAYS_JOIN or (name in _JOINS and not _LAST & set(given)):
        raise Refuse(f"`{editor.code(node)}` may join the rows")


def check_outside(made: set[str], loop: cst.For, function: cst.FunctionDef, editor: Editor) -> None:
    """Refuses a name of the loop that code outside of it reads after a round."""
    inside, end = set(walk(loop)), editor.location(loop)
    outer = [o for o in editor.ancestors(loop) if isinstance(o, (cst.For, cst.While))]
    around = set(walk(outer[-1])) if outer else set()
    for name in made:
        for mention in editor.mentions(function, name):
            is_after = editor.location(mention) > end or mention in around
            if mention not in inside and is_after and not editor.is_label(mention):
                raise Refuse(f"`{name}` of the loop is used after it")
