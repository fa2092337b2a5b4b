"""Loops over how many sorted rows each expert gets, which cut the rows and collect what the experts give.

``for i, n in enumerate(counts)`` with ``end = start + n`` and ``outputs.append(experts[i](rows[start:end]))`` gives
each expert its slice. Here each expert gets all rows, and what it gives for rows of others is left out of the sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import names, target_names
from graphdoctor.fixes.rows.independent_rows import check_outside
from graphdoctor.model.findings import Edit
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find, walk

_REASON = (
    "Every expert runs on all rows, and what it gives for rows of others is left out. It must compute each row by "
    "itself, and the counts must add up to the rows."
)
_CONVERSIONS = frozenset({"cpu", "detach", "numpy", "tolist"})


@dataclass(frozen=True)
class _Loop:
    """``for index, count in enumerate(counts)`` and the names that its lines bind."""

    loop: cst.For
    function: cst.FunctionDef
    index: str
    count: str
    counts: str
    start: str
    end: str


def loop_over_all_counted(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """The loop around the hit, or the one over what the hit counts. Raises Refuse where it does not fit."""
    function = editor.function_of(hit.place)
    if function is None:
        raise Refuse("the code is not in a function")
    for loop in editor.within(function, cst.For):
        found = _header(loop, function, editor)
        if found is None:
            continue
        bound = editor.assignments(function, found.counts)
        if hit.place in set(walk(loop)) or (bound and hit.place in set(walk(bound[-1]))):
            return _rewrite(found, editor)
    return Refusal("This is no loop over how many rows each expert gets.")


def _header(loop: cst.For, function: cst.FunctionDef, editor: Editor) -> _Loop | None:
    over, target = loop.iter, loop.target
    if not isinstance(over, cst.Call) or called(over) != "enumerate" or len(over.args) != 1:
        return None
    counts, bound = over.args[0].value, [e.value for e in target.elements] if isinstance(target, cst.Tuple) else []
    if not isinstance(counts, cst.Name) or len(bound) != 2 or not all(isinstance(b, cst.Name) for b in bound):
        return None
    index, count = (editor.code(b) for b in bound)
    for node in find(loop.body, cst.Assign):
        value = node.value
        if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add):
            sides = {editor.code(value.left), editor.code(value.right)}
            ends = target_names(node.targets[0].target)
            if count in sides and len(sides) == 2 and len(ends) == 1:
                (start,), (end,) = sides - {count}, ends
                return _Loop(loop, function, index, count, counts.value, start, end)
    return None


def _rewrite(found: _Loop, editor: Editor) -> FixPlan:
    add, gone = _body(found, editor)
    outputs, joined = _collected(found, add, editor)
    before = _bound(found, found.start, editor)
    if len(before) != 1 or editor.code(before[0].value) != "0" or len(gone) < 2:
        raise Refuse(f"`{found.start}` does not begin with 0 and end where the rows of an expert end")
    slices = _slices(found, [*gone, *before], editor)
    rows = next((editor.code(node.value) for node in slices), "")
    if not rows:
        raise Refuse(f"no rows are cut by `[{found.start}:{found.end}]`")
    counts, of_row = found.counts, editor.fresh("expert_of_row")
    kept_rows = f"torch.where(({of_row} == {found.index})[:, None], "
    line = (
        f"{of_row} = torch.arange({counts}.shape[0], device={rows}.device)"
        f".repeat_interleave({counts}, output_size={rows}.shape[0])"
    )
    value, indent = add.args[0].value, editor.indent_of(found.loop)
    edits = [
        *editor.torch_import(found.loop),
        *_as_tensor(found, editor),
        *(editor.delete(statement) for statement in (*gone, *before)),
        editor.replace(outputs.value, "0"),
        editor.insert_before(found.loop, line + editor.newline + indent),
        editor.replace_span(found.loop.target, found.loop.iter, f"{found.index} in range({counts}.shape[0])"),
        *(editor.replace(node, editor.code(node.value)) for node in slices if node not in set(walk(add))),
        editor.replace(joined, editor.code(add.func.value)),  # type: ignore[attr-defined]
    ]
    text = editor.code(value)
    for node in slices:
        text = text.replace(editor.code(node), editor.code(node.value)) if node in set(walk(add)) else text
    name = editor.code(outputs.targets[0].target)
    edits.append(editor.replace(editor.statement_of(add), f"{name} = {name} + {kept_rows}{text}, 0)"))
    return FixPlan(tuple(dict.fromkeys(edits)), "unsafe", _REASON, known=("zero_gradients",))


def _body(found: _Loop, editor: Editor) -> tuple[cst.Call, Sequence[cst.CSTNode]]:
    """The call that collects, and the statements that only count."""
    add: list[cst.Call] = []
    gone: list[cst.CSTNode] = []
    made: set[str] = set()
    for line in found.loop.body.body:
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else line
        if _only_counts(small, found, editor):
            gone.append(small)
        elif isinstance(small, cst.Assign) and all(isinstance(t.target, cst.Name) for t in small.targets):
            made |= {name for t in small.targets for name in target_names(t.target)}
        elif isinstance(small, cst.Expr) and isinstance(small.value, cst.Call) and called(small.value) == "append":
            add.append(small.value)
        else:
            raise Refuse(f"line {editor.location(small).line} of the loop does more than compute and collect rows")
    if len(add) != 1 or len(add[0].args) != 1:
        raise Refuse("the loop does not collect its rows in one list")
    check_outside(made, found.loop, found.function, editor)
    return add[0], gone


def _only_counts(statement: cst.CSTNode, found: _Loop, editor: Editor) -> bool:
    """``end = start + n``, ``start = end``, and passing over no rows."""
    if isinstance(statement, cst.Assign):
        texts = (f"{found.end} = {found.start} + {found.count}", f"{found.start} = {found.end}")
        return editor.code(statement) in (*texts, f"{found.end} = {found.count} + {found.start}")
    return isinstance(statement, cst.If) and _passes(statement, found, editor)


def _passes(branch: cst.If, found: _Loop, editor: Editor) -> bool:
    """``if n == 0: continue``."""
    jumps = [n for n in walk(branch.body) if isinstance(n, cst.BaseSmallStatement)]
    is_jump = len(jumps) == 1 and isinstance(jumps[0], cst.Continue) and branch.orelse is None
    tests = (f"{found.count} == 0", f"not {found.count}", f"{found.start} == {found.end}")
    return is_jump and editor.code(branch.test) in tests


def _bound(found: _Loop, name: str, editor: Editor) -> list[cst.Assign]:
    """Where ``name`` is assigned outside of the loop."""
    inside = set(walk(found.loop))
    bound = [n for n in editor.assignments(found.function, name) if n not in inside]
    return [n for n in bound if isinstance(n, cst.Assign)]


def _collected(found: _Loop, add: cst.Call, editor: Editor) -> tuple[cst.Assign, cst.BaseExpression]:
    """``outputs = []`` and ``torch.cat(outputs) if len(outputs) else ...``, which are all that the list is for."""
    owner = add.func.value if isinstance(add.func, cst.Attribute) else None
    name = owner.value if isinstance(owner, cst.Name) else ""
    bound = editor.assignments(found.function, name)
    if len(bound) != 1 or not isinstance(bound[0], cst.Assign) or editor.code(bound[0].value) != "[]":
        raise Refuse("the loop does not collect its rows in one list")
    inside = {*walk(found.loop), *walk(bound[0])}
    read = [n for n in editor.mentions(found.function, name) if n not in inside]
    joins = [o for n in read[:1] for o in editor.ancestors(n) if _joins(o, name, editor)]
    if not joins or not set(read) <= set(walk(joins[-1])):
        raise Refuse(f"`{name}` is more than joined by torch.cat")
    whole = joins[-1]
    assert isinstance(whole, cst.BaseExpression)
    return bound[0], whole


def _joins(node: cst.CSTNode, name: str, editor: Editor) -> bool:
    if isinstance(node, cst.IfExp):
        return editor.code(node.test) in (f"len({name})", name, f"len({name}) > 0") and _joins(node.body, name, editor)
    dims = ("dim=0", "0", "axis=0")
    texts = [f"torch.cat({name})", *(f"torch.cat({name}, {dim})" for dim in dims)]
    return isinstance(node, cst.Call) and editor.code(node) in texts


def _slices(found: _Loop, known: Sequence[cst.CSTNode], editor: Editor) -> Sequence[cst.Subscript]:
    """``rows[start:end]`` in the loop. Refuses where the bounds or the count are read in another way."""
    cut = f"[{found.start}:{found.end}]"
    slices = [n for n in find(found.loop.body, cst.Subscript) if editor.code(n).endswith(cut)]
    fine = {n for part in (*known, *slices, found.loop.target) for n in walk(part)}
    for node in (n for name in (found.start, found.end, found.count) for n in editor.mentions(found.function, name)):
        if node not in fine and not editor.is_label(node):
            raise Refuse(f"line {editor.location(node).line} does more than cut the sorted rows")
    if any(not isinstance(n.value, cst.Name) for n in slices):
        raise Refuse("the rows that are cut have no name")
    return slices


def _as_tensor(found: _Loop, editor: Editor) -> Iterator[Edit]:
    """``counts = t.cpu().numpy()`` keeps the tensor."""
    bound = [n for n in editor.assignments(found.function, found.counts) if isinstance(n, cst.Assign)]
    if not bound or len(editor.mentions(found.function, found.counts)) != _mentions(bound, found):
        raise Refuse(f"`{found.counts}` is read in another way too")
    value = bound[-1].value
    while isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and called(value) in _CONVERSIONS:
        value = value.func.value
    if value.deep_equals(bound[-1].targets[0].target):
        yield editor.delete(bound[-1])
    elif value is not bound[-1].value:
        end, whole = editor.location(value), editor.location(bound[-1].value)
        start = (end.end_line, end.end_column + len(value.rpar))
        yield Edit(editor.path, start, (whole.end_line, whole.end_column), "")


def _mentions(bound: Sequence[cst.Assign], found: _Loop) -> int:
    """How often the name of the counts stands in what binds it and in the head of the loop."""
    return 1 + len(bound) + sum(found.counts in names(b.value) for b in bound)
