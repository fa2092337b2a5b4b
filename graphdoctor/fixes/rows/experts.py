"""Loops over the experts that were hit, as a loop over all experts on a fixed number of rows.

``torch.nonzero_static`` gives the rows of ``torch.where(mask)`` in the same order and pads them. What is computed for
the rows that pad is replaced by zeros before it is added up, so the sums stay the same.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.purity import called, calls, is_torch_function
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import bound_names, names, target_names
from graphdoctor.model.findings import Edit
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find, walk

_REASON = (
    "Every expert computes all rows (with k of n experts for a row, n/k times the work), and those that were "
    "not routed to it add zeros. Correct only where an expert computes each row by itself."
)


def loop_over_all(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``for e in mask.nonzero(): k, rows = torch.where(mask[e])`` that ends in ``out.index_add_(0, rows, value)``.

    Raises Refuse where it does not fit.
    """
    function = editor.function_of(hit.place)
    if function is None:
        raise Refuse("the code is not in a function")
    for loop in (n for n in editor.within(function, cst.For) if isinstance(n.iter, cst.Name)):
        search = _search(loop, function, editor)
        if search is not None and (hit.place in set(walk(loop.body)) or hit.place in set(walk(search))):
            return _rewrite(loop, search, function, editor)
    return Refusal("The positions that are found are used as data, and how many there are depends on the data.")


def _search(loop: cst.For, function: cst.FunctionDef, editor: Editor) -> cst.Call | None:
    """The ``nonzero`` call that gives the experts of the loop."""
    assert isinstance(loop.iter, cst.Name)
    bound = editor.assignments(function, loop.iter.value)
    if len(bound) != 1 or not isinstance(bound[0], cst.Assign) or not isinstance(loop.target, cst.Name):
        return None
    value = bound[0].value
    is_search = isinstance(value, cst.Call) and any(called(c) == "nonzero" for c in calls(value))
    return value if is_search and isinstance(value, cst.Call) else None


def _rewrite(loop: cst.For, search: cst.Call, function: cst.FunctionDef, editor: Editor) -> FixPlan:
    assert isinstance(loop.target, cst.Name) and isinstance(loop.iter, cst.Name)
    where = _selection(loop, editor)
    selected = where.value.args[0].value  # type: ignore[attr-defined]
    mask = next((n.value for n in walk(selected) if isinstance(n, cst.Name)), "")
    if mask not in names(search):
        raise Refuse(f"`{editor.code(search)}` does not search the mask that the loop reads")
    if len(editor.mentions(function, loop.iter.value)) != 2:
        raise Refuse(f"`{loop.iter.value}` is used outside the loop too")
    add = _addition(loop, where, editor)
    _check_body(loop, function, add, editor)
    columns = [e.value.value for e in where.targets[0].target.elements]  # type: ignore[attr-defined]
    routed = "routed" if "routed" not in names(function) else "routed_rows"
    is_number, edits = _index_edits(loop, where, editor)
    text = editor.code(selected)
    if not is_number and text.endswith(".squeeze(0)"):
        text = text.removesuffix(".squeeze(0)")
    for name, plain in _renamed(loop).items():
        text = text.replace(name, plain)
    lines = [
        f"{', '.join(columns)} = torch.nonzero_static({text}, size={text}.numel()).unbind(-1)",
        f"{routed} = {columns[-1]} >= 0",
        f"{', '.join(columns)} = {', '.join(f'{c}.clamp(min=0)' for c in columns)}",
    ]
    value = add.args[2].value
    edits += [
        editor.replace(search, f"range({mask}.shape[0])"),
        editor.replace(where, editor.lines(editor.indent_of(where), *lines)),
        editor.replace(value, f"torch.where({routed}[:, None], {editor.code(value)}, 0)"),
    ]
    experts = _fewer_experts(loop, mask, function, editor)
    if experts:
        edits.append(editor.replace(loop.iter, f"{loop.iter.value}[: len({experts})]"))
    return FixPlan((*editor.torch_import(loop), *edits), "unsafe", _REASON)


def _fewer_experts(loop: cst.For, mask: str, function: cst.FunctionDef, editor: Editor) -> str:
    """What the loop takes its experts from, where the mask has rows for more: ``one_hot(chosen, num_experts + 1)``.

    The rows after the last expert are never hit; a loop over all of them would ask for an expert that is not there.
    Empty where the loop passes over them itself, or where the mask has a row for each expert.
    """
    assert isinstance(loop.target, cst.Name)
    made = [n for n in editor.assignments(function, mask) if isinstance(n, cst.Assign)]
    counts = [a.value for n in made for c in calls(n.value) if called(c) == "one_hot" for a in c.args[1:]]
    passes = any(isinstance(n, cst.Continue) for n in walk(loop.body))
    if passes or not any(isinstance(count, cst.BinaryOperation) for count in counts):
        return ""
    index, bound = loop.target.value, bound_names(loop)
    for node in walk(loop.body):
        if isinstance(node, cst.Subscript) and editor.code(node).endswith((f"[{index}]", f"[{index}[0]]")):
            read = {n.value for n in walk(node.value) if isinstance(n, cst.Name) and not editor.is_label(n)}
            if mask not in read and not read & bound:
                return editor.code(node.value)
    raise Refuse(f"`{mask}` has rows for more than the experts, and how many there are is not shown")


def _selection(loop: cst.For, editor: Editor) -> cst.Assign:
    """The statement ``k, rows = torch.where(mask[e])``."""
    found = [
        n for n in find(loop.body, cst.Assign)
        if isinstance(n.value, cst.Call) and called(n.value) == "where"
        and is_torch_function(n.value, editor) and len(n.value.args) == 1
    ]  # fmt: skip
    if len(found) != 1:
        raise Refuse("the loop does not select its rows by one call of torch.where(mask)")
    target = found[0].targets[0].target
    is_pair = isinstance(target, (cst.Tuple, cst.List)) and len(target.elements) == 2
    if not is_pair or len(target_names(target)) != 2:
        raise Refuse("what torch.where(mask) gives is not bound to a position and a row")
    return found[0]


def _addition(loop: cst.For, where: cst.Assign, editor: Editor) -> cst.Call:
    """The call ``out.index_add_(0, rows, value)`` that the loop ends with."""
    adds = [c for c in calls(loop.body) if called(c) == "index_add_"]
    if len(adds) != 1 or len(adds[0].args) != 3 or any(a.keyword is not None for a in adds[0].args):
        raise Refuse("the loop does not add up its rows by one index_add_(0, rows, value)")
    rows = adds[0].args[1].value
    if not isinstance(rows, cst.Name) or rows.value not in target_names(where.targets[0].target):
        raise Refuse(f"`{editor.code(rows)}` is not what torch.where(mask) selected")
    return adds[0]


def _check_body(loop: cst.For, function: cst.FunctionDef, add: cst.Call, editor: Editor) -> None:
    """Nothing but the sum may leave the loop, because the rows that pad are only taken out there."""
    made: set[str] = set()
    for node in walk(loop.body):
        if isinstance(node, (cst.AugAssign, cst.Return, cst.Break, cst.Yield, cst.Await, cst.For, cst.While)):
            raise Refuse(f"line {editor.location(node).line} of the loop does more than compute the rows")
        if isinstance(node, cst.Assign):
            if not all(target_names(t.target) for t in node.targets):
                raise Refuse(f"line {editor.location(node).line} of the loop stores rows for other code")
            made |= {name for t in node.targets for name in target_names(t.target)}
        if isinstance(node, cst.Expr) and node.value is not add:
            raise Refuse(f"line {editor.location(node).line} of the loop does more than compute the rows")
    inside = set(walk(loop))
    end = editor.location(loop)
    after = {
        n.value for n in find(function.body, cst.Name) if n not in inside and editor.location(n) > end
    }  # fmt: skip
    if made & after:
        raise Refuse(f"`{min(made & after)}` of the loop is used after it")


def _index_edits(loop: cst.For, where: cst.Assign, editor: Editor) -> tuple[bool, list[Edit]]:
    """The index is a Python number now: ``e[0]`` and ``int(e.item())`` become ``e``. And whether it was one before."""
    assert isinstance(loop.target, cst.Name)
    index, edits, is_number = loop.target.value, [], False
    inner = set(walk(where))
    for node in walk(loop.body):
        if node in inner or not isinstance(node, (cst.Subscript, cst.Call)):
            continue
        code = editor.code(node)
        if code in (f"{index}[0]", f"{index}.item()", f"int({index}.item())", f"int({index})", f"{index}[0].item()"):
            inner |= set(walk(node))
            is_number = is_number or "item" in code or "int" in code
            edits.append(_plain_index(node, index, editor))
    return is_number, edits


def _plain_index(node: cst.CSTNode, index: str, editor: Editor) -> Edit:
    """``e`` in place of ``node``; the whole line goes where that would leave ``e = e``."""
    outer = editor.parent(node)
    if isinstance(outer, cst.Assign) and target_names(outer.targets[0].target) == {index}:
        return editor.delete(outer)
    return editor.replace(node, index)


def _renamed(loop: cst.For) -> dict[str, str]:
    """How the index is read as a number in the mask: ``mask[e[0]]`` is ``mask[e]`` now."""
    assert isinstance(loop.target, cst.Name)
    return {f"{loop.target.value}[0]": loop.target.value}
