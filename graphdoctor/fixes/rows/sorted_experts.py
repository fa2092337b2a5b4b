"""Loops over rows that are sorted by expert and cut by ``bincount().cumsum()`` become loops over all rows.

Every expert computes all sorted rows, and those of other experts are added as zeros: the sums and their order stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes.analysis.purity import called, calls, root
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import assignments, bound_names, names, target_names
from graphdoctor.model.findings import Edit
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

_REASON = (
    "Every expert runs on all rows, and those of other experts are added as zeros. It must compute each row by itself."
)
#: Methods that add rows up; their third argument holds the rows.
_ADDS = ("index_add_", "scatter_add_", "scatter_reduce_")


@dataclass(frozen=True)
class _Sorted:
    """``order = experts.argsort()``, ``ends = experts.bincount().cumsum(0)``, and the loop over ``ends``."""

    function: cst.FunctionDef
    order: str
    experts: str
    ends: str
    counting: cst.Assign
    loop: cst.For
    index: str
    end: str


@dataclass(frozen=True)
class _Head:
    """The two lines that the loop begins with: where the rows of an expert start, and ``continue`` for no rows."""

    start: str
    assignment: cst.Assign
    skip: cst.If


def loop_over_all_sorted(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``for i, end in enumerate(ends): start = ends[i - 1]; rows = order[start:end]`` that ends in a sum of rows.

    Raises Refuse where it does not fit.
    """
    function = editor.function_of(hit.place)
    if function is None:
        raise Refuse("the code is not in a function")
    for loop in editor.within(function, cst.For):
        counting = _counting(loop, function)
        if counting is not None and hit.place in {*walk(counting), *walk(loop)}:
            return _rewrite(_sorted(loop, counting, function, editor), editor)
    return Refusal("This is no loop over rows that are sorted by expert.")


def _counting(loop: cst.For, function: cst.FunctionDef) -> cst.Assign | None:
    """``ends = experts.bincount().cumsum(0)`` for a loop over ``enumerate(ends)``."""
    over = loop.iter
    if not isinstance(over, cst.Call) or called(over) != "enumerate" or len(over.args) != 1:
        return None
    ends = over.args[0].value
    found = _only(function, ends.value) if isinstance(ends, cst.Name) else None
    is_counting = found is not None and {"bincount", "cumsum"} <= {called(c) for c in calls(found.value)}
    return found if is_counting and len(target_names(loop.target)) == 2 else None


def _sorted(loop: cst.For, counting: cst.Assign, function: cst.FunctionDef, editor: Editor) -> _Sorted:
    experts = next(_operand(call) for call in calls(counting.value) if called(call) == "bincount")
    for node in walk(function):
        if not isinstance(node, cst.Assign) or not isinstance(node.value, cst.Call) or called(node.value) != "argsort":
            continue
        bound = [name for target in node.targets for name in target_names(target.target)]
        is_before = editor.location(node) < editor.location(counting)
        is_order = is_before and len(bound) == 1 and _only(function, bound[0]) is node
        if is_order and experts and _operand(node.value) == experts:
            (ends,) = target_names(counting.targets[0].target)
            index, end = (editor.code(e.value) for e in loop.target.elements)  # type: ignore[attr-defined]
            return _Sorted(function, bound[0], experts, ends, counting, loop, index, end)
    raise Refuse("the rows are not sorted by the numbers that bincount counts, before it does")


def _only(function: cst.FunctionDef, name: str) -> cst.Assign | None:
    """The assignment to ``name``, when there is one and no other."""
    bound = assignments(function, name)
    return bound[0] if len(bound) == 1 and isinstance(bound[0], cst.Assign) else None


def _operand(call: cst.Call) -> str:
    """``x`` of ``x.argsort()`` and of ``torch.argsort(x)``; empty for what is no plain name, and with options."""
    values = [a.value for a in call.args]
    if isinstance(call.func, cst.Attribute) and root(call.func) != "torch":
        values.insert(0, call.func.value)
    only = values[0] if len(values) == 1 else None
    return only.value if isinstance(only, cst.Name) else ""


def _rewrite(found: _Sorted, editor: Editor) -> FixPlan:
    head, add = _head(found, editor), _addition(found, editor)
    _check_body(found, head, add, editor)
    taken = bound_names(found.function)
    routed = "routed" if "routed" not in taken else "routed_rows"
    of_row = "expert_of_row" if "expert_of_row" not in taken else "expert_of_sorted_row"
    header = f"{found.index} in range(len({_experts(found, editor)}))"
    value = add.args[2].value
    kept = f"torch.where({routed}[:, None], {editor.code(value)}, 0)"
    if isinstance(value, cst.Name):
        statement = editor.statement_of(add)
        line = editor.lines(editor.indent_of(statement), f"{value.value} = {kept}", "")
        sums = editor.insert_before(statement, line)
    else:
        sums = editor.replace(value, kept)
    edits = (
        *editor.torch_import(found.loop),
        editor.replace(found.counting, f"{of_row} = {found.experts}[{found.order}]"),
        editor.replace_span(found.loop.target, found.loop.iter, header),
        editor.replace_span(head.assignment, head.skip, f"{routed} = {of_row} == {found.index}"),
        *_whole_rows(found, head, editor),
        sums,
    )
    return FixPlan(edits, "unsafe", _REASON)


def _head(found: _Sorted, editor: Editor) -> _Head:
    lines, index, ends = found.loop.body.body, found.index, found.ends
    first = lines[0].body[0] if isinstance(lines[0], cst.SimpleStatementLine) else None
    second = lines[1] if len(lines) > 1 else None
    if isinstance(first, cst.Assign) and isinstance(second, cst.If):
        start = editor.code(first.targets[0].target)
        starts = f"0 if {index} == 0 else {ends}[{index} - 1]", f"{ends}[{index} - 1] if {index} > 0 else 0"
        tests = f"{start} == {found.end}", f"{found.end} == {start}"
        jumps = [n for n in walk(second.body) if isinstance(n, cst.BaseSmallStatement)]
        is_skip = len(jumps) == 1 and isinstance(jumps[0], cst.Continue) and second.orelse is None
        if editor.code(first.value) in starts and editor.code(second.test) in tests and is_skip:
            return _Head(start, first, second)
    raise Refuse("the loop does not begin with where its rows start, and with passing over no rows")


def _addition(found: _Sorted, editor: Editor) -> cst.Call:
    """``out.index_add_(0, rows, value)`` or a scatter that adds up."""
    adds = [call for call in calls(found.loop.body) if called(call) in _ADDS]
    if len(adds) != 1 or len(adds[0].args) < 3 or any(a.keyword is not None for a in adds[0].args[:3]):
        raise Refuse("the loop does not add up its rows by one index_add_, scatter_add_ or scatter_reduce_")
    options = [editor.code(a.value) for a in adds[0].args[3:]]
    if (called(adds[0]) == "scatter_reduce_") != bool(options) or any(o.strip("'\"") != "sum" for o in options):
        raise Refuse(f"`{called(adds[0])}` does not just add up")
    return adds[0]


def _check_body(found: _Sorted, head: _Head, add: cst.Call, editor: Editor) -> None:
    """Nothing but the sum, and its dtype, may leave the loop."""
    total, made = root(add.func), {head.start, found.end}
    for line in found.loop.body.body[2:]:
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else line
        bound = target_names(small.targets[0].target) if isinstance(small, cst.Assign) else frozenset()
        if isinstance(small, cst.Assign) and bound:
            is_dtype = bound == {total} and editor.code(small.value).startswith(f"{total}.to(")
            made |= frozenset() if is_dtype else bound
            continue
        value = small.value if isinstance(small, cst.Expr) else None
        is_in_place = isinstance(value, cst.Call) and called(value).endswith("_") and root(value.func) in made
        if not isinstance(value, cst.Call) or (value is not add and not is_in_place):
            raise Refuse(f"line {editor.location(small).line} of the loop does more than compute the rows")
    inside = set(walk(found.loop))
    outside = {n.value for n in walk(found.function) if isinstance(n, cst.Name) and n not in inside}
    if made & outside:
        raise Refuse(f"`{min(made & outside)}` of the loop is used outside of it")


def _experts(found: _Sorted, editor: Editor) -> str:
    """``self.experts`` of ``self.experts[i]``, which has as many elements as there are experts."""
    reads = (n for n in walk(found.loop.body) if isinstance(n, cst.Subscript))
    lists = {editor.code(n.value) for n in reads if editor.code(n).endswith(f"[{found.index}]")}
    if len(lists) != 1:
        raise Refuse(f"the loop does not read one list of experts by `{found.index}`")
    return lists.pop()


def _whole_rows(found: _Sorted, head: _Head, editor: Editor) -> Iterator[Edit]:
    """``rows[start:end]`` becomes ``rows``. Refuses where the bounds or the ends are read in another way."""
    cut = f"[{head.start}:{found.end}]"
    slices = [n for n in walk(found.loop.body) if isinstance(n, cst.Subscript) and editor.code(n).endswith(cut)]
    parts = (head.assignment, head.skip, found.counting, found.loop.target, found.loop.iter, *slices)
    known = {n for part in parts for n in walk(part)}
    for node in walk(found.function):
        is_bound = isinstance(node, cst.Name) and node.value in (head.start, found.end, found.ends)
        if is_bound and node not in known:
            raise Refuse(f"line {editor.location(node).line} does more than cut the sorted rows")
    for node in slices:
        rows = editor.code(node.value)
        passed = _only(found.function, rows)
        if rows != found.order and (passed is None or found.order not in names(passed.value)):
            raise Refuse(f"`{rows}` is not made from the sorted rows")
        yield editor.replace(node, rows)
