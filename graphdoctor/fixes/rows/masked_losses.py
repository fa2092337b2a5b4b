"""Losses and means of what one mask selects become those of the full shape, with the other places left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes.analysis.conditions import receiver
from graphdoctor.fixes.analysis.held_before import bound_in_block
from graphdoctor.fixes.analysis.mask_shape import spread
from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.analysis.types import is_number
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import assignments, names, target_names
from graphdoctor.fixes.proof.aliasing import is_changed_in
from graphdoctor.fixes.rows.masked_values import Masked, is_loss_of_classes, selected_from
from graphdoctor.fixes.rows.row_means import check_before
from graphdoctor.fixes.tensors.asked_counts import count_of
from graphdoctor.fixes.tensors.number_flow import Flow
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

_REASON = "All elements are computed, with 1 in place of those that the mask leaves out; sums and means leave them out."
#: How many numbers there are, whatever the shape.
_ALL = (".numel()", ".nelement()")
_IGNORED = "All rows are computed; those that the mask leaves out get the label that the loss ignores."


def reduce_selected(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``F.mse_loss(a[m], b[m])``, ``d = a[m] - b[m]`` and ``d.abs().mean()``. Raises Refuse where it does not fit."""
    selection, function = hit.place, editor.function_of(hit.place)
    mask = _mask(selection)
    if mask is None or function is None:
        return Refusal("This is no selection by one mask.")
    block = _block(selection, editor)
    if not isinstance(mask, cst.Name):
        block = _alone_in(block, mask, selection, editor)
    elif len(editor.assignments(function, mask.value)) > 1:
        block = _with_same(mask, block, selection, editor)
    nodes = (n for line in block for n in walk(line) if not isinstance(editor.parent(n), cst.AssignTarget))
    leaves = [n for n in nodes if selected_from(n, mask, editor) is not None]
    first = leaves[0]
    tensors = [t for n in leaves if (t := selected_from(n, mask, editor)) is not None]
    keep = _keep(mask, tensors, isinstance(first, cst.Call), hit, editor)
    masked = Masked(mask, keep.name, editor)
    ndims = set(_ranks(tensors, editor))
    masked.ndim = ndims.pop() if len(ndims) == 1 else None
    if keep.values:
        masked.named[tensors[0]] = keep.values
    statement = _first(block, first)
    edits: list[Edit] = []
    for small in block:
        edits += _statement(small, masked, function, editor)
    edits += _elsewhere(block, masked, keep.name if keep.lines else editor.code(mask), function, hit, editor)
    uses_keep = keep.lines and any(keep.name in edit.text for edit in edits)
    if uses_keep and _differ(_ranks(tensors, editor)):
        raise Refuse("the mask selects from tensors of different shapes")
    if uses_keep:
        if keep.values:
            check_before(tensors[0], statement, editor)
        indent = editor.indent_of(statement)
        line = (editor.newline + indent).join(editor.statement(indent, f"{n} = ", code) for n, code in keep.lines)
        at = next((n for n, e in enumerate(edits) if e.start == _start(statement, editor)), None)
        if at is None:
            edits.append(editor.insert_before(statement, line + editor.newline + indent))
        else:
            whole = edits[at]
            edits[at] = Edit(whole.path, whole.start, whole.end, line + editor.newline + indent + whole.text)
    reasons = [text for text, holds in ((_REASON, masked.fills), (_IGNORED, masked.ignores)) if holds]
    edits = [*editor.torch_import(selection), *edits]
    return FixPlan(tuple(edits), "unsafe", " ".join(reasons), known=("zero_gradients",))


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
    if len(line.body) > 1:
        raise Refuse("another statement stands in the line of the selection")
    lines = (n for n in block.body if isinstance(n, cst.SimpleStatementLine) and len(n.body) == 1)
    return [n.body[0] for n in lines]


def _alone_in(
    block: Sequence[cst.BaseSmallStatement], mask: cst.BaseExpression, selection: cst.CSTNode, editor: Editor
) -> Sequence[cst.BaseSmallStatement]:
    """The line of ``selection``: only what stands in one line surely has the same mask.

    And those behind it, where it gives what is selected a name and nothing that the mask is computed from gets another
    value there.
    """
    line, function = _first(block, selection), editor.function_of(selection)
    check_before(mask, line, editor)
    if not isinstance(line, cst.Assign):
        return [line]
    at = editor.location(line)
    for name in names(mask):
        bound = editor.assignments(function, name) if function is not None else ()
        if function is None or any(editor.location(b) >= at for b in bound) or is_changed_in(function, name, editor):
            return [line]
    return [each for each in block if editor.location(each) >= at]


def _with_same(
    mask: cst.Name, block: Sequence[cst.BaseSmallStatement], selection: cst.CSTNode, editor: Editor
) -> Sequence[cst.BaseSmallStatement]:
    """Those of ``block`` between the line that gives ``mask`` its value for ``selection`` and the next such line."""
    line, own = editor.parent(block[0]), _first(block, selection)
    outer = editor.parent(line) if line is not None else None
    at = editor.location(own)
    bound = [editor.location(n) for n in getattr(outer, "body", ()) if assignments(n, mask.value)]
    before, after = [place for place in bound if place < at], [place for place in bound if place >= at]
    places = ((each, editor.location(each)) for each in block)
    same = [each for each, place in places if before and place > before[-1] and (not after or place < after[0])]
    # A comprehension in the line of the selection may bind the mask.
    return same if own in same else _alone_in(block, mask, selection, editor)


def _first(block: Sequence[cst.BaseSmallStatement], leaf: cst.CSTNode) -> cst.BaseSmallStatement:
    return next(statement for statement in block if leaf in set(walk(statement)))


@dataclass(frozen=True)
class _Keep:
    """``name`` is the mask with the shape of what it selects from; ``lines`` are the names and code that define it.

    ``values`` is the name that the lines give to what is selected from; empty where it has one, or needs none.
    """

    name: str
    lines: tuple[tuple[str, str], ...] = ()
    values: str = ""


def _keep(
    mask: cst.BaseExpression, tensors: Sequence[cst.BaseExpression], broadcasts: bool, hit: Hit, editor: Editor
) -> _Keep:
    """The mask for all elements of what it selects from, a name of its own where it has no such shape."""
    name, is_name = editor.fresh("keep"), isinstance(mask, cst.Name)
    rank, *ranks = _ranks((mask, *tensors), editor)
    for tensor_rank, other in () if broadcasts or _differ(ranks) else zip(ranks, tensors, strict=True):
        if (rank is not None and rank == tensor_rank) or _has_shape(mask, other, hit, editor):
            return _Keep(editor.code(mask)) if is_name else _Keep(name, ((name, _alone(mask, editor)),))
    has_name = isinstance(tensors[0], (cst.Name, cst.Attribute))
    values = "" if has_name else editor.fresh("values")
    tensor = values or editor.code(tensors[0])
    lines = [] if has_name else [(values, _alone(tensors[0], editor))]
    if broadcasts:
        return _Keep(name, (*lines, (name, f"{editor.operand(mask)}.expand_as({tensor})")), values)
    base = editor.code(mask) if is_name else editor.fresh("mask")
    lines += [] if is_name else [(base, _alone(mask, editor))]
    text = f"{base}[(...,) + (None,) * ({tensor}.ndim - {base}.ndim)].expand_as({tensor})"
    return _Keep(name, (*lines, (name, text)), values)


def _alone(node: cst.BaseExpression, editor: Editor) -> str:
    """The code of ``node`` as a line of its own assigns it: without parentheses, but around several lines."""
    bare = editor.module.tree.code_for_node(node.with_changes(lpar=[], rpar=[]))
    return f"({bare})" if editor.newline in bare else bare


def _has_shape(mask: cst.BaseExpression, tensor: cst.BaseExpression, hit: Hit, editor: Editor) -> bool:
    """Whether the source shows that ``mask`` has the shape of ``tensor``."""
    if not isinstance(tensor, (cst.Name, cst.Attribute)):
        return False
    bound = bound_in_block(mask.value, editor.statement_of(hit.place), editor) if isinstance(mask, cst.Name) else None
    made = bound.value if bound is not None else None
    if isinstance(made, cst.Call) and called(made) == "expand_as" and len(made.args) == 1:
        return made.args[0].value.deep_equals(tensor)
    try:
        return spread(mask, tensor, hit, editor) == editor.code(mask)
    except Refuse:
        return False


def _ranks(nodes: Sequence[cst.BaseExpression], editor: Editor) -> list[int | None]:
    known = (tensor_of(editor.value(node)) for node in nodes)
    return [tensor.ndim if tensor is not None else None for tensor in known]


def _differ(ranks: Sequence[int | None]) -> bool:
    return len({rank for rank in ranks if rank is not None}) > 1


def _statement(
    statement: cst.BaseSmallStatement, masked: Masked, function: cst.FunctionDef, editor: Editor
) -> Iterator[Edit]:
    if isinstance(statement, (cst.Assign, cst.Return, cst.Expr, cst.AugAssign)) and statement.value is not None:
        value = statement.value
        target = statement.targets[0].target if isinstance(statement, cst.Assign) else None
        bound = target_names(target) if target is not None else frozenset()
        if target is not None and not bound and masked.holds(target):
            if _is_plain_write(target, value, masked, editor):
                return
            raise Refuse(f"`{editor.code(target)}` is written where the mask selects")
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
            all_rows = selected_from(value, masked.mask, editor)
            if all_rows is not None and not masked.holds(all_rows) and _is_for_classes(target, function, editor):
                new, masked.unselected = all_rows, masked.unselected | bound
            else:
                new = masked.full(value)
            masked.names |= bound
        yield editor.replace(value, editor.module.tree.code_for_node(new.with_changes(lpar=[], rpar=[])))
    elif any(masked.holds(node) for node in walk(statement) if isinstance(node, (cst.Name, cst.Subscript))):
        raise Refuse(f"line {editor.location(statement).line} does more with what the mask selects")


def _is_plain_write(target: cst.BaseExpression, value: cst.BaseExpression, masked: Masked, editor: Editor) -> bool:
    """``y[mask] = 0``, which stays as it is."""
    place = selected_from(target, masked.mask, editor)
    return place is not None and not masked.holds(place) and is_number(value, editor)


def _is_for_classes(name: cst.Name, function: cst.FunctionDef, editor: Editor) -> bool:
    """Whether ``name`` is bound once, and only ever given to losses of classes, which leave out labels themselves."""
    users = [editor.parent(mention) for mention in editor.mentions(function, name.value) if mention is not name]
    calls = [editor.parent(user) if isinstance(user, cst.Arg) and user.keyword is None else None for user in users]
    is_loss = all(isinstance(call, cst.Call) and is_loss_of_classes(call, editor) for call in calls)
    return is_loss and len(editor.assignments(function, name.value)) == 1


def _elsewhere(
    block: Sequence[cst.BaseSmallStatement],
    masked: Masked,
    keep: str,
    function: cst.FunctionDef,
    hit: Hit,
    editor: Editor,
) -> Iterator[Edit]:
    """How often a name of what was selected is counted outside of the block's own lines, by the mask ``keep``.

    Refuses a name that is read there for more than that.
    """
    inside = {node for statement in block for node in walk(statement)}
    start = editor.location(block[0])
    loop = next((n for n in editor.ancestors(block[0]) if isinstance(n, (cst.For, cst.While))), None)
    again = set(walk(loop)) if loop is not None else set()
    flow = Flow(hit, editor)
    for name in sorted(masked.names):
        bound = next(s for s in block if isinstance(s, cst.Assign) and name in target_names(s.targets[0].target))
        old = set(walk(bound.value))
        for mention in editor.mentions(function, name) if again else ():
            if mention in again and (mention in old or editor.location(mention) < editor.location(bound)):
                raise Refuse(f"line {editor.location(mention).line} reads `{name}` in the next round")
        for mention in editor.mentions(function, name):
            if mention in inside or editor.is_label(mention) or editor.location(mention) < start:
                continue
            counted = count_of(mention, True, editor)
            if counted is None or not editor.code(counted).endswith(_ALL):
                raise Refuse(f"line {editor.location(mention).line} reads `{name}` too")
            flow.number_of(counted, f"{receiver(keep)}.sum()")
    yield from flow.edits
