"""A function of what a mask selects, written back by the same mask: called with a full shape instead.

``y[m] = f(x[m], w[m, :])`` calls ``f`` with as many rows as the mask selects, which is data. Called with all rows,
where each that is not selected is a copy of the first selected one, ``f`` sees no value that it did not see before;
zeros where nothing is selected, for then it was not called, or on nothing. Its rows go back where the mask is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes.analysis.purity import RANDOM, called, calls, words
from graphdoctor.fixes.branches.branch import branch_of
from graphdoctor.fixes.branches.branch_arms import statements
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.layout import on_one_line
from graphdoctor.fixes.core.scope import names
from graphdoctor.fixes.tensors.masks import element_reason, written_back
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

_REASON = (
    "It is called with all rows, those that the mask leaves out filled with the first one that it selects: that must "
    "not matter to the rows that it selects. Where the mask selects none it is called with zeros, and results then "
    "require gradients, of zeros or NaN, that they did not."
)
#: Operators that combine all rows, so that copies of one row change the results of the others.
_JOINS = words("cumprod cumsum flip layer_norm logsumexp mean median norm prod roll softmax sort std sum topk var")


def call_with_all_rows(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``(y[m], z[m]) = f(x[m])``, alone or under ``if m.any():``. Raises Refuse where it does not fit."""
    assign, whole = _statement(hit, editor)
    targets = _targets(assign)
    mask = targets[0].mask
    read = _index(hit.place) if isinstance(hit.place, cst.Subscript) else mask
    if read is None or any(not by.deep_equals(mask) for by in (read, *(t.mask for t in targets))):
        # Of ``feat[slots] = emb[m]`` the slots are positions.
        raise Refuse("the targets are not selected by the same mask")
    if isinstance(whole, cst.If) and not _asks_any(whole, mask):
        raise Refuse("the branch tests more than whether the mask selects anything")
    pick = editor.fresh("picked")
    picking = _Pick(mask, pick)
    value = cst.parse_expression(on_one_line(assign.value, editor)).visit(picking)
    assert isinstance(value, cst.BaseExpression)
    if picking.count and isinstance(whole, cst.If) and (plan := _by_elements(whole, assign, targets, editor)):
        return plan
    if not picking.count or any(type(node) is type(mask) and node.deep_equals(mask) for node in walk(value)):
        raise Refuse("what is called does not get what the mask selects, or reads the mask in another way")
    beside = assign.value.visit(_Pick(mask, pick, bare=True))
    assert isinstance(beside, cst.BaseExpression)
    for name in sorted(names(beside)):
        if any(isinstance(n, cst.Subscript) and names(mask) & _indices(n) for n in _sources(name, assign, editor)):
            raise Refuse(f"how many rows `{name}` has depends on the data")
    for call in calls(value):
        if called(call) in RANDOM or called(call) in _JOINS:
            raise Refuse(f"`{editor.code(assign.value)}` draws random numbers for each row, or joins the rows")
    return FixPlan(
        (*editor.torch_import(whole), _edit(whole, targets, value, pick, editor)),
        "unsafe",
        _REASON,
        known=("gradients", "requires_grad", "rows"),
    )


def _by_elements(whole: cst.If, assign: cst.Assign, targets: Sequence[_Target], editor: Editor) -> FixPlan | None:
    """``y[m] = x[m] * 2`` as a choice for all elements; None for what is more than arithmetic."""
    place = assign.targets[0].target
    if not isinstance(place, cst.Subscript):
        return None
    try:
        text = written_back(assign, place, _spread(targets[0], editor), editor)
    except Refuse:
        return None
    indent = editor.indent_of(whole)
    lines = [comment for _, comment in editor.module.comments(whole)]
    edit = editor.replace(whole, editor.lines(indent, *lines, editor.statement(indent, "", text)))
    edits = (*editor.torch_import(whole), edit)
    return FixPlan(edits, "unsafe", element_reason([assign], editor), known=("gradients", "requires_grad"))


def _spread(target: _Target, editor: Editor) -> str:
    """The mask with the dimensions that the tensor has after those of the mask."""
    tensor, mask = editor.code(target.tensor), editor.code(target.mask)
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


def _statement(hit: Hit, editor: Editor) -> tuple[cst.Assign, cst.If | cst.Assign]:
    """The assignment, and what is replaced: it, or the branch that only guards it."""
    branch = branch_of(hit.place, editor)
    if isinstance(branch, cst.If):
        body = list(statements(branch.body))
        if len(body) != 1 or not isinstance(body[0], cst.Assign) or branch.orelse is not None:
            raise Refuse("the branch does more than write back what a mask selects")
        return body[0], branch
    statement = editor.statement_of(hit.place)
    if not isinstance(statement, cst.Assign):
        raise Refuse("what the mask selects is not written back to where it came from")
    outer = next((o for o in editor.ancestors(statement) if isinstance(o, cst.BaseCompoundStatement)), None)
    if isinstance(outer, cst.If) and outer.orelse is None and list(statements(outer.body)) == [statement]:
        targets = _targets(statement)
        if _asks_any(outer, targets[0].mask):
            return statement, outer
    return statement, statement


def _asks_any(branch: cst.If, mask: cst.BaseExpression) -> bool:
    """``if m.any():`` and ``if torch.any(m):``."""
    test = branch.test
    if not isinstance(test, cst.Call) or called(test) != "any" or not isinstance(test.func, cst.Attribute):
        return False
    tested = test.args[0].value if len(test.args) == 1 else test.func.value if not test.args else None
    return tested is not None and tested.deep_equals(mask)


def _targets(assign: cst.Assign) -> Sequence[_Target]:
    target = assign.targets[0].target
    found = [e.value for e in target.elements] if isinstance(target, cst.Tuple) else [target]
    if len(assign.targets) != 1:
        raise Refuse("the statement assigns more than one target")
    targets = []
    for each in found:
        index = _index(each) if isinstance(each, cst.Subscript) else None
        if (
            not isinstance(each, cst.Subscript)
            or index is None
            or not isinstance(each.value, (cst.Name, cst.Attribute))
        ):
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


def _edit(whole: cst.CSTNode, targets: Sequence[_Target], value: cst.BaseExpression, pick: str, editor: Editor) -> Edit:
    mask = editor.code(targets[0].mask)
    indent = editor.indent_of(whole)
    selected, rows = editor.fresh("selected"), editor.fresh("rows")
    found = [editor.fresh(f"new_{number}" if number else "new") for number in range(len(targets))]
    first = f"{selected}.int().argsort(descending=True, stable=True)[:1]"
    lines = [
        f"{selected} = {mask}.flatten()",
        f"{rows} = torch.arange({selected}.numel(), device={selected}.device)",
        f"{rows} = torch.where({selected}, {rows}, {first})",
        "",
        f"def {pick}(values):",
        f"\tvalues = values.flatten(0, {mask}.ndim - 1)[{rows}]",
        f"\treturn torch.where({selected}.any(), values, torch.zeros_like(values))",
        "",
        editor.statement(indent, f"{', '.join(found)} = ", editor.module.tree.code_for_node(value)),
    ]
    for target, new in zip(targets, found, strict=True):
        tensor = editor.code(target.tensor)
        written = f"torch.where({_spread(target, editor)}, {new}.reshape({tensor}.shape), {tensor})"
        lines.append(editor.statement(indent, "", f"{tensor}.copy_({written})"))
    return editor.replace(whole, editor.lines(indent, *lines))
