"""Loops in which each round computes the rows that a mask selects, and adds them to a result.

A mixture of experts as it is mostly written: ``rows, slots = torch.where(chosen == e)``, ``continue`` for no rows, and
``out[rows] += expert(x[rows]) * w[rows, slots, None]``. With ``torch.nonzero_static`` each round has as many rows as
its mask has elements; those that pad are copies of row 0, and are added as zeros.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from graphdoctor.fixes.analysis.purity import called, calls
from graphdoctor.fixes.analysis.selected_rows import (
    RowsTest,
    bound_once,
    made_from,
    masks_in,
    one_in_each_row,
    searches,
)
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import names
from graphdoctor.fixes.rows.independent_rows import check_statements, has_rows, padded_names
from graphdoctor.fixes.rows.loop_body import Body, body_of, moves
from graphdoctor.fixes.rows.padded_statements import PaddedStatements
from graphdoctor.fixes.rows.recorded_counts import take_recorded
from graphdoctor.fixes.rows.routed_loops import header_of, names_experts
from graphdoctor.fixes.rows.row_sums import RowSum, row_sum
from graphdoctor.model.findings import Edit
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find, walk

_REASON = (
    "Each round computes as many rows as there are, not only the selected ones (with k of n experts for a row, n/k "
    "times the work), and the others add zeros. Correct only where what is called computes each row by itself."
)
_TWICE = "A row that is selected twice in one round is added twice."


def loop_over_all_rows(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """The loop around the hit, or the one that reads what the hit counts. Raises Refuse where it does not fit."""
    function = editor.function_of(hit.place)
    if function is None:
        raise Refuse("the code is not in a function")
    for loop in editor.within(function, cst.For):
        if not find(loop.body, cst.For) and _concerns(loop, hit.place, editor):
            return _rewrite(loop, function, hit, editor)
    return Refusal("This is no loop over rows that a mask selects.")


def _concerns(loop: cst.For, place: cst.CSTNode, editor: Editor) -> bool:
    if not any(True for _ in searches(loop.body, editor)) and not any(True for _ in masks_in(loop.body, editor)):
        return False
    if place in set(walk(loop)) or names_experts(loop, place, editor):
        return True
    counts = (n for branch in find(loop.body, cst.If) for n in find(branch.test, cst.Name))
    return any(place in set(walk(value)) for name in counts if (value := bound_once(name, editor)) is not None)


def _rewrite(loop: cst.For, function: cst.FunctionDef, hit: Hit, editor: Editor) -> FixPlan:
    if loop.orelse is not None:
        raise Refuse("the loop has an else")
    header, body = header_of(loop, function, editor), body_of(loop, editor)
    if header.edits:  # There are more rounds now.
        body.always.clear()
    padded = padded_names([s for s, _ in body.statements], editor)
    counted = take_recorded(body, padded, loop, hit, editor)
    add = _sum(body, padded, editor)
    check_statements(body, add, padded, loop, function, editor)
    removed = _check_questions(body, padded, loop, function, editor)
    masks = [mask for s, _ in body.statements for _, mask in _masks(s, editor)]
    rewrite = PaddedStatements(masks, add, padded, editor)
    changed = [edit for statement, by in body.statements for edit in rewrite.statement(statement, header.index, by)]
    edits = (*header.edits, *removed, *counted, *body.edits, *changed, *moves(body, changed, editor))
    may_repeat = add.kind != "call" and not all(one_in_each_row(mask, editor) for mask in masks)
    reason = f"{_REASON} {_TWICE}" if may_repeat else _REASON
    return FixPlan((*editor.torch_import(loop), *edits), "unsafe", reason, known=("zero_gradients",))


def _masks(statement: cst.CSTNode, editor: Editor) -> Iterator[tuple[cst.CSTNode, cst.BaseExpression]]:
    yield from searches(statement, editor)
    yield from masks_in(statement, editor)


def _sum(body: Body, padded: frozenset[str], editor: Editor) -> RowSum:
    with_rows = (s for s, _ in body.statements if s not in body.always or has_rows(s, padded, editor))
    sums = [found for s in with_rows if (found := row_sum(s, editor)) is not None]
    if len(sums) != 1:
        raise Refuse("the loop does not give its rows back by one sum")
    if not has_rows(sums[0].value, padded, editor):
        raise Refuse(f"`{editor.code(sums[0].value)}` is not computed of rows that a mask selects")
    return sums[0]


def _check_questions(
    body: Body, padded: frozenset[str], loop: cst.For, function: cst.FunctionDef, editor: Editor
) -> Sequence[Edit]:
    """That what the loop asks is whether there are rows; the edits that take out counts that only this needed."""
    masks = [mask for s, _ in body.statements for _, mask in _masks(s, editor)]
    sources = {editor.code(node) for mask in masks for node, _ in made_from(mask, editor)}
    counts: list[str] = []
    for test in body.tests:
        if _is_count(test, loop, editor):
            counts.append(editor.code(test.of))
        elif test.is_mask and not {editor.code(n) for n, _ in made_from(test.of, editor)} & sources:
            raise Refuse(f"`{editor.code(test.of)}` is no mask that selects the rows")
        elif not test.is_mask and not (isinstance(test.of, cst.Name) and test.of.value in padded):
            raise Refuse(f"`{editor.code(test.of)}` is not shown to have as many rows as are selected")
    return [
        editor.delete(editor.assignments(function, name)[0])
        for name in dict.fromkeys(counts)
        if len(editor.mentions(function, name)) == counts.count(name) + 1
    ]


def _is_count(test: RowsTest, loop: cst.For, editor: Editor) -> bool:
    """``counts[e]`` for ``counts = torch.bincount(chosen)`` and the number of the round."""
    value = bound_once(test.of, editor) if isinstance(test.of, cst.Name) else None
    if value is None or test.is_mask or not any(called(c) in ("bincount", "histc") for c in calls(value)):
        return False
    return bool(names(loop.target))
