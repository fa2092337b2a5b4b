"""A function of what a mask selects, written back by the same mask: called with a full shape instead.

``y[m] = f(x[m], w[m, :])`` calls ``f`` with as many rows as the mask selects, which is data. Called with all rows,
where each that is not selected is a copy of the first selected one, ``f`` sees no value that it did not see before;
zeros where nothing is selected, for then it was not called, or on nothing. Its rows go back where the mask is true.
Under ``if m.any():`` several lines may do so, with names for what they select.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes.analysis.purity import RANDOM, called, calls, is_torch_function, words
from graphdoctor.fixes.branches.branch import branch_of
from graphdoctor.fixes.branches.branch_arms import is_local, statements
from graphdoctor.fixes.branches.masked_writes import selected
from graphdoctor.fixes.core.comments import Comments
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.layout import on_one_line
from graphdoctor.fixes.core.scope import names
from graphdoctor.fixes.tensors.masks import element_reason, written_back
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.value_functions import is_tensor, tensor_of
from graphdoctor.static.domain.values import Seq
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

_CASES = (
    "results then require gradients, of zeros or NaN, that they did not. Another dtype is converted, where the write "
    "raised, and another shape raises RuntimeError, not IndexError."
)
_REASON = (
    "It is called with all rows, those that the mask leaves out filled with the first one that it selects: that must "
    f"not matter to the rows that it selects. Where the mask selects none it is called with zeros, and {_CASES}"
)
_BLOCK = (
    "The branch runs in each call, with all rows, those that the mask leaves out filled with the first one that it "
    "selects: that must not matter to the rows that it selects. Where the mask selects none it runs with zeros, and "
    f"{_CASES}"
)
#: Operators that combine all rows, so that copies of one row change the results of the others.
_JOINS = words("""
    all amax amin any argmax argmin argsort cumprod cumsum flip layer_norm log_softmax logsumexp max mean median min
    norm normalize prod roll softmax sort std sum topk var
""")
#: Products, in which the rows of a factor that is not the first are summed.
_PRODUCTS = words("addmm baddbmm bmm cdist dot einsum inner matmul mm mv outer tensordot vdot")
#: What may put rows along another dimension.
_MOVES = words("""
    T chunk flatten mT movedim permute reshape split squeeze swapaxes swapdims t transpose unbind unflatten unsqueeze
    view
""")
#: What gives the number of rows, and functions that are given sizes to make or reshape a tensor.
_COUNTS = words("len numel size")
_SIZED = words("""
    empty expand full new_empty new_full new_ones new_zeros ones repeat reshape view zeros
""")


def call_with_all_rows(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``(y[m], z[m]) = f(x[m])``, alone or under ``if m.any():``, there also after ``a = x[m]``.

    Raises Refuse where it does not fit.
    """
    block = _block(hit, editor)
    whole, targets = block.whole, block.targets
    mask = targets[0].mask
    read = _index(hit.place) if isinstance(hit.place, cst.Subscript) else mask
    if read is None or any(not by.deep_equals(mask) for by in (read, *(t.mask for t in targets))):
        # Of ``feat[slots] = emb[m]`` the slots are positions.
        raise Refuse("the targets are not selected by the same mask")
    if isinstance(whole, cst.If) and not _asks_any(whole, mask):
        raise Refuse("the branch tests more than whether the mask selects anything")
    helpers = _helpers(block, editor)
    pick = editor.fresh("picked")
    picking = _Pick(mask, pick)
    values = [cst.parse_expression(on_one_line(line.value, editor)).visit(picking) for line in block.lines]
    if picking.count and isinstance(whole, cst.If) and len(block.lines) == 1:
        plan = _by_elements(whole, block.lines[0], targets, editor)
        if plan is not None:
            return plan
    written: list[cst.BaseExpression] = []
    for line, value in zip(block.lines, values, strict=True):
        assert isinstance(value, cst.BaseExpression)
        is_given = bool(names(value) & {pick, *helpers}) or bool(_bound(line))
        if not is_given or any(type(node) is type(mask) and node.deep_equals(mask) for node in walk(value)):
            raise Refuse("what is called does not get what the mask selects, or reads the mask in another way")
        _check_rows(line, value, {pick, *helpers}, block, editor)
        written.append(value)
    return FixPlan(
        (*editor.torch_import(whole), _edit(block, written, pick, editor)),
        "unsafe",
        _REASON if len(block.lines) == 1 else _BLOCK,
        known=("gradients", "requires_grad", "rows"),
    )


def _helpers(block: _Block, editor: Editor) -> frozenset[str]:
    """The names that the lines of a branch bind. Refuses those that other code reads."""
    helpers = frozenset(name for line in block.lines for name in _bound(line))
    if isinstance(block.whole, cst.If):
        for name in sorted(helpers):
            if name in names(block.whole.test) or not is_local(name, block.whole.body, editor):
                raise Refuse(f"`{name}` is used outside the branch too")
    if len(block.lines) > 1 and any(target.tensor.deep_equals(target.mask) for target in block.targets):
        raise Refuse("the branch changes what its mask is made of")
    return helpers


def _bound(line: cst.Assign) -> Sequence[str]:
    """The plain names that ``line`` binds; none for what is written by the mask."""
    target = line.targets[0].target
    found = [e.value for e in target.elements] if isinstance(target, cst.Tuple) else [target]
    bound = [each.value for each in found if isinstance(each, cst.Name)]
    return bound if len(bound) == len(found) and len(line.targets) == 1 else []


def _check_rows(line: cst.Assign, value: cst.CSTNode, rows: Collection[str], block: _Block, editor: Editor) -> None:
    """Refuse ``value``, that of ``line``, where rows meet each other, or where it depends on how many there are.

    ``rows`` are the names that have rows: those that the block binds, and the function that picks them.
    """
    mask = block.targets[0].mask
    beside = line.value.visit(_Pick(mask, "picked", bare=True))
    assert isinstance(beside, cst.BaseExpression)
    for name in sorted(names(beside) - {*rows, "picked"}):
        if any(isinstance(n, cst.Subscript) and names(mask) & _indices(n) for n in _sources(name, line, editor)):
            raise Refuse(f"how many rows `{name}` has depends on the data")
    is_moved = any(_moves(node) for each in block.lines for node in walk(each.value))
    if any(called(call) in RANDOM or _joins(call, is_moved, editor) for call in calls(line.value)) or any(
        _meet(node, rows) for node in walk(value)
    ):
        raise Refuse(f"`{editor.code(line.value)}` draws random numbers for each row, or joins the rows")
    if _asks_count(line.value) or any(_is_place(node, rows, editor) for node in walk(line.value)):
        raise Refuse(f"`{editor.code(line.value)}` depends on how many rows there are, or on their order")


def _moves(node: cst.CSTNode) -> bool:
    """Whether ``node`` may put the rows along another dimension."""
    return isinstance(node, cst.Attribute) and node.attr.value in _MOVES


def _meet(node: cst.CSTNode, rows: Collection[str]) -> bool:
    """Whether a product has rows in a factor that is not the first."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.MatrixMultiply):
        return bool(names(node.right) & set(rows))
    if not isinstance(node, cst.Call) or called(node) not in _PRODUCTS:
        return False
    is_function = isinstance(node.func, cst.Attribute) and not names(node.func.value) & set(rows)
    others = node.args[1:] if is_function else node.args
    return any(names(a.value) & set(rows) for a in others)


def _is_place(node: cst.CSTNode, rows: Collection[str], editor: Editor) -> bool:
    """Whether ``node`` is ``a[1]``, a row by its position, where ``a`` is no tuple."""
    if not isinstance(node, cst.Subscript) or not isinstance(node.value, cst.Name) or node.value.value not in rows:
        return False
    return not isinstance(editor.value(node.value), Seq) and not _is_everything(node.slice[0].slice)


def _asks_count(node: cst.CSTNode) -> bool:
    """Whether ``node`` asks for a size, other than to make or reshape a tensor."""
    if isinstance(node, cst.Call) and (called(node) in _COUNTS or called(node) in _SIZED):
        return called(node) in _COUNTS
    is_shape = isinstance(node, cst.Attribute) and node.attr.value == "shape"
    return is_shape or any(map(_asks_count, node.children))


def _joins(call: cst.Call, is_moved: bool, editor: Editor) -> bool:
    """Whether ``call`` combines rows: along a dimension that is not known to be another one."""
    if called(call) not in _JOINS:
        return False
    method = call.func.value if isinstance(call.func, cst.Attribute) and not is_torch_function(call, editor) else None
    plain = [a.value for a in call.args if a.keyword is None]
    operand = method or (plain[0] if plain else None)
    rest = plain if method is not None else plain[1:]
    if called(call) in ("max", "min") and rest and is_tensor(editor.value(rest[0])):
        return False
    dim = _dim(call, rest)
    if operand is None or dim is None:
        return True
    number = editor.code(dim)
    if isinstance(operand, cst.Call) and called(operand) == "stack":
        along = _dim(operand, [a.value for a in operand.args[1:] if a.keyword is None])
        return number != (editor.code(along) if along is not None else "0")
    known = tensor_of(editor.value(operand))
    is_later = number == "-1" or (number.isdecimal() and number != "0")
    return is_moved or not is_later or known is None or (known.ndim or 0) < 2


def _dim(call: cst.Call, plain: Sequence[cst.BaseExpression]) -> cst.BaseExpression | None:
    """``dim=`` of ``call``, or the first of the ``plain`` arguments after the tensor."""
    named = (a.value for a in call.args if a.keyword is not None and a.keyword.value == "dim")
    return next(named, None) or next(iter(plain), None)


def _by_elements(whole: cst.If, assign: cst.Assign, targets: Sequence[_Target], editor: Editor) -> FixPlan | None:
    """``y[m] = x[m] * 2`` as a choice for all elements; None for what is more than arithmetic."""
    place = assign.targets[0].target
    if not isinstance(place, cst.Subscript):
        return None
    try:
        text = written_back(assign, place, _spread(targets[0], editor.code(place.value), editor), editor)
    except Refuse:
        return None
    indent = editor.indent_of(whole)
    lines = [comment for _, comment in editor.module.comments(whole)]
    edit = editor.replace(whole, editor.lines(indent, *lines, editor.statement(indent, "", text)))
    edits = (*editor.torch_import(whole), edit)
    return FixPlan(edits, "unsafe", element_reason([assign], editor), known=("gradients", "requires_grad"))


def _spread(target: _Target, tensor: str, editor: Editor) -> str:
    """The mask with the dimensions that ``tensor``, the code of the target, has after those of the mask."""
    mask = editor.code(target.mask)
    of_tensor, of_mask = (
        known.ndim if (known := tensor_of(editor.value(n))) else None for n in (target.tensor, target.mask)
    )
    if of_tensor is None or of_mask is None:
        return f"{mask}[(...,) + (None,) * ({tensor}.ndim - {mask}.ndim)]"
    return f"{mask}[...{', None' * (of_tensor - of_mask)}]" if of_tensor > of_mask else mask


def _sources(name: str, place: cst.CSTNode, editor: Editor) -> Iterator[cst.CSTNode]:
    """The nodes of all that ``name`` is made from in the function around ``place``, step by step."""
    function = editor.function_of(place)
    waiting, seen = [name], {name}
    while waiting and function is not None:
        for bound in editor.assignments(function, waiting.pop()):
            value = bound.iter if isinstance(bound, (cst.For, cst.CompFor)) else getattr(bound, "value", None)
            if isinstance(value, cst.BaseExpression):
                yield from walk(value)
                waiting += names(value) - seen
                seen |= names(value)


def _indices(node: cst.Subscript) -> frozenset[str]:
    return frozenset(name for part in node.slice for name in names(part))


@dataclass(frozen=True)
class _Target:
    """``tensor[mask]``."""

    tensor: cst.BaseExpression
    mask: cst.BaseExpression


@dataclass(frozen=True)
class _Block:
    """Assignments, of which some write by a mask, and what is replaced: the one, or the branch that guards them."""

    lines: Sequence[cst.Assign]
    whole: cst.If | cst.Assign

    @property
    def targets(self) -> Sequence[_Target]:
        return [target for line in self.lines if not _bound(line) for target in _targets(line)]


def _block(hit: Hit, editor: Editor) -> _Block:
    branch = branch_of(hit.place, editor)
    if isinstance(branch, cst.If):
        return _of_branch(branch)
    statement = editor.statement_of(hit.place)
    if not isinstance(statement, cst.Assign):
        raise Refuse("what the mask selects is not written back to where it came from")
    outer = next((o for o in editor.ancestors(statement) if isinstance(o, cst.BaseCompoundStatement)), None)
    if isinstance(outer, cst.If) and outer.orelse is None and selected(outer.test) is not None:
        block = _of_branch(outer)
        if _asks_any(outer, block.targets[0].mask):
            return block
    if _bound(statement):
        raise Refuse("what the mask selects is not written back to where it came from")
    return _Block((statement,), statement)


def _of_branch(branch: cst.If) -> _Block:
    lines = [line for line in statements(branch.body) if isinstance(line, cst.Assign)]
    block = _Block(lines, branch)
    if len(lines) < len(list(statements(branch.body))) or branch.orelse is not None or not block.targets:
        raise Refuse("the branch does more than write back what a mask selects")
    return block


def _asks_any(branch: cst.If, mask: cst.BaseExpression) -> bool:
    """``if m.any():``, ``if torch.any(m):`` and ``if m.sum() > 0:``."""
    tested = selected(branch.test)
    return tested is not None and tested.deep_equals(mask)


def _targets(assign: cst.Assign) -> Sequence[_Target]:
    target = assign.targets[0].target
    found = [e.value for e in target.elements] if isinstance(target, cst.Tuple) else [target]
    if len(assign.targets) != 1:
        raise Refuse("the statement assigns more than one target")
    targets = []
    for each in found:
        index = _index(each) if isinstance(each, cst.Subscript) else None
        if not isinstance(each, cst.Subscript) or index is None:
            raise Refuse("what the mask selects is not written back to where it came from")
        targets.append(_Target(each.value, index))
    return targets


def _index(node: cst.Subscript) -> cst.BaseExpression | None:
    """The mask of ``x[m]``, ``x[m, :]`` and ``x[m, ...]``, a name or an attribute; None for another index."""
    first, *others = [element.slice for element in node.slice]
    if not isinstance(first, cst.Index) or not isinstance(first.value, (cst.Name, cst.Attribute)):
        return None
    return first.value if all(map(_is_everything, others)) else None


def _is_everything(element: cst.BaseSlice) -> bool:
    if isinstance(element, cst.Slice):
        return element.lower is None and element.upper is None and element.step is None
    return isinstance(element, cst.Index) and isinstance(element.value, cst.Ellipsis)


class _Pick(cst.CSTTransformer):
    """``x[m]`` becomes ``picked(x)``, or ``picked`` alone where ``bare``."""

    def __init__(self, mask: cst.BaseExpression, pick: str, bare: bool = False) -> None:
        self.mask = mask
        self.pick = pick
        self.bare = bare
        self.count = 0

    def leave_Subscript(self, original_node: cst.Subscript, updated_node: cst.Subscript) -> cst.BaseExpression:
        index = _index(original_node)
        if index is None or not index.deep_equals(self.mask):
            return updated_node
        self.count += 1
        if self.bare:
            return cst.Name(self.pick)
        return cst.Call(cst.Name(self.pick), [cst.Arg(updated_node.value)])


def _edit(block: _Block, values: Sequence[cst.BaseExpression], pick: str, editor: Editor) -> Edit:
    mask = editor.code(block.targets[0].mask)
    indent = editor.indent_of(block.whole)
    selected, rows = editor.fresh("selected"), editor.fresh("rows")
    first = f"{selected}.int().argsort(descending=True, stable=True)[:1]"
    comments = Comments(block.whole, editor)
    below = [(line, list(comments.take(line))) for line in block.lines]
    lines = [
        *comments.left(),
        f"{selected} = {mask}.flatten()",
        f"{rows} = torch.arange({selected}.numel(), device={selected}.device)",
        f"{rows} = torch.where({selected}, {rows}, {first})",
        "",
        f"def {pick}(values):",
        f"\tvalues = values.reshape({selected}.numel(), *values.shape[{mask}.ndim :])[{rows}]",
        f"\treturn torch.where({selected}.any(), values, torch.zeros_like(values))",
        "",
    ]
    number = 0
    for (line, above), value in zip(below, values, strict=True):
        lines += above
        targets = [] if _bound(line) else _targets(line)
        if len(targets) == 1 and isinstance(value, cst.Name):
            found = [value.value]
        else:
            found = [editor.fresh(f"new_{n}" if n else "new") for n in range(number, number + len(targets))]
            number += len(targets)
            start = ", ".join(found) if found else editor.code(line.targets[0].target)
            lines.append(editor.statement(indent, f"{start} = ", editor.module.tree.code_for_node(value)))
        for target, new in zip(targets, found, strict=True):
            tensor = editor.code(target.tensor)
            if not isinstance(target.tensor, (cst.Name, cst.Attribute)):
                place = editor.fresh(f"{new}_place")
                lines.append(f"{place} = {tensor}")
                tensor = place
            written = f"torch.where({_spread(target, tensor, editor)}, {new}.reshape({tensor}.shape), {tensor})"
            lines.append(editor.statement(indent, "", f"{tensor}.copy_({written})"))
    return editor.replace(block.whole, editor.lines(indent, *lines))
