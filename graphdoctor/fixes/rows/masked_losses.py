"""Losses and means of what one mask selects become those of the full shape, with the other places left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from graphdoctor.fixes.analysis.mask_shape import spread
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import target_names
from graphdoctor.fixes.rows.masked_values import Masked
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find, walk

_REASON = "All elements are computed, with 1 in place of those that the mask leaves out; sums and means leave them out."


def reduce_selected(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``F.mse_loss(a[m], b[m])``, ``d = a[m] - b[m]`` and ``d.abs().mean()``. Raises Refuse where it does not fit."""
    selection, function = hit.place, editor.function_of(hit.place)
    if not isinstance(selection, cst.Subscript) or function is None or len(selection.slice) != 1:
        return Refusal("This is no selection by one mask.")
    index = selection.slice[0].slice
    mask = index.value if isinstance(index, cst.Index) else None
    if not isinstance(mask, cst.Name) or len(editor.assignments(function, mask.value)) > 1:
        raise Refuse("the mask has no name that is bound once")
    block = _block(selection, editor)
    leaves = [n for line in block for n in find(line, cst.Subscript) if _selects(n, mask)]
    first = leaves[0]
    if not isinstance(first.value, (cst.Name, cst.Attribute)):
        raise Refuse(f"`{editor.code(first.value)}` has no name, and its dimensions are not known")
    keep, count, line = _keep(mask, leaves, hit, editor)
    masked = Masked(mask, keep, count, editor)
    statement = _first(block, first)
    edits: list[Edit] = []
    for small in block:
        edits += _statement(small, masked, editor)
    _check_elsewhere(block, masked, function, editor)
    uses_keep = line and any(keep in edit.text for edit in edits)
    if uses_keep and _differ(_ranks([leaf.value for leaf in leaves], editor)):
        raise Refuse("the mask selects from tensors of different shapes")
    if uses_keep:
        indent = editor.indent_of(statement)
        at = next((n for n, e in enumerate(edits) if e.start == _start(statement, editor)), None)
        if at is None:
            edits.append(editor.insert_before(statement, line + editor.newline + indent))
        else:
            whole = edits[at]
            edits[at] = Edit(whole.path, whole.start, whole.end, line + editor.newline + indent + whole.text)
    return FixPlan((*editor.torch_import(selection), *edits), "unsafe", _REASON, known=("zero_gradients",))


def _start(statement: cst.CSTNode, editor: Editor) -> tuple[int, int]:
    place = editor.location(statement)
    return place.line, place.column


def _selects(node: cst.Subscript, mask: cst.Name) -> bool:
    index = node.slice[0].slice
    return len(node.slice) == 1 and isinstance(index, cst.Index) and index.value.deep_equals(mask)


def _block(selection: cst.CSTNode, editor: Editor) -> Sequence[cst.BaseSmallStatement]:
    """The statements of the block in which ``selection`` stands that are lines of their own."""
    statement = editor.statement_of(selection)
    line = editor.parent(statement)
    block = editor.parent(line) if line is not None else None
    if not isinstance(line, cst.SimpleStatementLine) or not isinstance(block, cst.IndentedBlock):
        raise Refuse("what the mask selects is used in the head of a branch or a loop")
    lines = (n for n in block.body if isinstance(n, cst.SimpleStatementLine) and len(n.body) == 1)
    return [n.body[0] for n in lines]


def _first(block: Sequence[cst.BaseSmallStatement], leaf: cst.CSTNode) -> cst.BaseSmallStatement:
    return next(statement for statement in block if leaf in set(walk(statement)))


def _keep(mask: cst.Name, leaves: Sequence[cst.Subscript], hit: Hit, editor: Editor) -> tuple[str, str, str]:
    """The mask with the dimensions of what it selects from, how many it selects, and the line that names it."""
    rank, *ranks = _ranks((mask, *(leaf.value for leaf in leaves)), editor)
    for leaf_rank, leaf in () if _differ(ranks) else zip(ranks, leaves, strict=True):
        if rank is not None and rank == leaf_rank:
            return mask.value, f"{mask.value}.sum()", ""
        if isinstance(leaf.value, (cst.Name, cst.Attribute)) and spread(mask, leaf.value, hit, editor) == mask.value:
            return mask.value, f"{mask.value}.sum()", ""
    tensor, name = editor.code(leaves[0].value), editor.fresh("keep")
    text = f"{mask.value}[(...,) + (None,) * ({tensor}.ndim - {mask.value}.ndim)].expand_as({tensor})"
    return name, f"{name}.sum()", f"{name} = {text}"


def _ranks(nodes: Sequence[cst.BaseExpression], editor: Editor) -> list[int | None]:
    known = (tensor_of(editor.value(node)) for node in nodes)
    return [tensor.ndim if tensor is not None else None for tensor in known]


def _differ(ranks: Sequence[int | None]) -> bool:
    return len({rank for rank in ranks if rank is not None}) > 1


def _statement(statement: cst.BaseSmallStatement, masked: Masked, editor: Editor) -> Iterator[Edit]:
    if isinstance(statement, (cst.Assign, cst.Return, cst.Expr, cst.AugAssign)) and statement.value is not None:
        value = statement.value
        target = statement.targets[0].target if isinstance(statement, cst.Assign) else None
        bound = target_names(target) if target is not None else frozenset()
        if not masked.holds(value):
            masked.names -= bound
            if isinstance(statement, cst.AugAssign) and masked.holds(statement.target):
                raise Refuse(f"`{editor.code(statement.target)}` is changed in place")
            return
        try:
            new = masked.number(value)
            masked.names -= bound
            masked.reduced |= bound
        except Refuse:
            if not isinstance(target, cst.Name):
                raise
            new = masked.full(value)
            masked.names |= bound
        yield editor.replace(value, editor.module.tree.code_for_node(new.with_changes(lpar=[], rpar=[])))
    elif any(masked.holds(node) for node in walk(statement) if isinstance(node, (cst.Name, cst.Subscript))):
        raise Refuse(f"line {editor.location(statement).line} does more with what the mask selects")


def _check_elsewhere(
    block: Sequence[cst.BaseSmallStatement], masked: Masked, function: cst.FunctionDef, editor: Editor
) -> None:
    """Refuses a name of what was selected that is read outside of the block's own lines, behind them."""
    inside = {node for statement in block for node in walk(statement)}
    start = editor.location(block[0])
    for name in masked.names:
        for mention in editor.mentions(function, name):
            if mention not in inside and not editor.is_label(mention) and editor.location(mention) > start:
                raise Refuse(f"line {editor.location(mention).line} reads `{name}` too")
