"""Losses and means of what one mask selects become those of the full shape, with the other places left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from graphdoctor.fixes.analysis.mask_shape import spread
from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import target_names
from graphdoctor.fixes.rows.masked_values import Masked, selected_from
from graphdoctor.fixes.rows.row_means import check_before
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

_REASON = "All elements are computed, with 1 in place of those that the mask leaves out; sums and means leave them out."


def reduce_selected(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``F.mse_loss(a[m], b[m])``, ``d = a[m] - b[m]`` and ``d.abs().mean()``. Raises Refuse where it does not fit."""
    selection, function = hit.place, editor.function_of(hit.place)
    mask = _mask(selection)
    if mask is None or function is None:
        return Refusal("This is no selection by one mask.")
    block = _block(selection, editor)
    if not isinstance(mask, cst.Name) or len(editor.assignments(function, mask.value)) > 1:
        # Only what stands in one line surely has the same mask.
        block = [_first(block, selection)]
        check_before(mask, block[0], editor)
    leaves = [n for line in block for n in walk(line) if selected_from(n, mask, editor) is not None]
    first = leaves[0]
    tensors = [t for n in leaves if (t := selected_from(n, mask, editor)) is not None]
    if not isinstance(tensors[0], (cst.Name, cst.Attribute)):
        raise Refuse(f"`{editor.code(tensors[0])}` has no name, and its dimensions are not known")
    keep, count, line = _keep(mask, tensors, isinstance(first, cst.Call), hit, editor)
    masked = Masked(mask, keep, count, editor)
    statement = _first(block, first)
    edits: list[Edit] = []
    for small in block:
        edits += _statement(small, masked, editor)
    _check_elsewhere(block, masked, function, editor)
    uses_keep = line and any(keep in edit.text for edit in edits)
    if uses_keep and _differ(_ranks(tensors, editor)):
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


def _mask(selection: cst.CSTNode) -> cst.BaseExpression | None:
    """``m`` of ``x[m]`` and of ``torch.masked_select(x, m)``."""
    if isinstance(selection, cst.Call):
        return selection.args[-1].value if called(selection) == "masked_select" and selection.args else None
    index = selection.slice[0].slice if isinstance(selection, cst.Subscript) and len(selection.slice) == 1 else None
    return index.value if isinstance(index, cst.Index) and index.star is None else None


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


def _keep(
    mask: cst.BaseExpression, tensors: Sequence[cst.BaseExpression], broadcasts: bool, hit: Hit, editor: Editor
) -> tuple[str, str, str]:
    """The mask with the dimensions of what it selects from, how many it selects, and the line that names it."""
    name, code, tensor = editor.fresh("keep"), editor.operand(mask), editor.code(tensors[0])
    if broadcasts:
        return name, f"{name}.sum()", f"{name} = {code}.expand_as({tensor})"
    rank, *ranks = _ranks((mask, *tensors), editor)
    for tensor_rank, other in () if _differ(ranks) else zip(ranks, tensors, strict=True):
        is_name = isinstance(other, (cst.Name, cst.Attribute))
        if (rank is not None and rank == tensor_rank) or (
            is_name and spread(mask, other, hit, editor) == editor.code(mask)
        ):
            if isinstance(mask, cst.Name):
                return mask.value, f"{mask.value}.sum()", ""
            return name, f"{name}.sum()", f"{name} = {editor.code(mask)}"
    if not isinstance(mask, cst.Name):
        raise Refuse(f"`{editor.code(mask)}` is not shown to have the shape of `{tensor}`; give both a name")
    text = f"{code}[(...,) + (None,) * ({tensor}.ndim - {code}.ndim)].expand_as({tensor})"
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
    loop = next((n for n in editor.ancestors(block[0]) if isinstance(n, (cst.For, cst.While))), None)
    again = set(walk(loop)) if loop is not None else set()
    for name in masked.names:
        bound = next(s for s in block if isinstance(s, cst.Assign) and name in target_names(s.targets[0].target))
        old = set(walk(bound.value))
        for mention in editor.mentions(function, name) if again else ():
            if mention in again and (mention in old or editor.location(mention) < editor.location(bound)):
                raise Refuse(f"line {editor.location(mention).line} reads `{name}` in the next round")
        for mention in editor.mentions(function, name):
            if mention not in inside and not editor.is_label(mention) and editor.location(mention) > start:
                raise Refuse(f"line {editor.location(mention).line} reads `{name}` too")
