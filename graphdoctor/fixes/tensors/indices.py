"""Where a mask is true, as indices: counted, summed, read one by one, or used to read and write.

``torch.nonzero(m)`` has as many rows as ``m`` has true elements. Code that only counts them, adds them up, takes the
first ones or selects with them needs no such shape: ``torch.count_nonzero``, ``torch.nonzero_static`` with a bound, and
the mask itself give the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes.analysis.conditions import tight
from graphdoctor.fixes.analysis.purity import called, calls, is_pure, is_torch_function
from graphdoctor.fixes.analysis.uses import uses
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.proof.aliasing import is_written
from graphdoctor.fixes.tensors.asked_counts import UNASKED, count_of, only_writes
from graphdoctor.fixes.tensors.index_selection import (
    paired,
    reduced_selection,
    selects,
    written_pair,
    written_selection,
)
from graphdoctor.fixes.tensors.number_flow import Flow
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.domain.values import Tensor
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

#: The value in the rows after the last index, with which the reduction gives the same.
_FILL = {"sum": "0", "max": "-1", "amax": "-1"}
#: Methods that change neither the number of rows nor which of them are zero.
_SAME_ROWS = frozenset({"double", "float", "int", "long", "to"})
_COUNTED = "Only the number of indices is used, so they are no longer computed."
_FIXED = "There are as many rows as the mask has elements, those after the last index filled with {fill}."
_FIRST = "Where fewer elements are true than are read, -1 takes the place of an error."
_PAIRED = "Each row is written at one place: where the mask is false, what is there."
_SELECTED = "What the indices select is selected by the mask: all elements are computed, and kept where it is true."


@dataclass(frozen=True)
class _Indices:
    """``mask`` and where its indices are: ``reads`` of names, or the one expression."""

    call: cst.Call
    mask: cst.BaseExpression
    #: Whether the mask holds bools: a tensor of numbers selects by position.
    is_bool: bool
    #: Dimensions of the mask; None where nothing is known.
    rank: int | None
    is_tuple: bool
    assign: cst.Assign | None
    reads: Sequence[cst.BaseExpression]
    #: How many indices select with the mask: one for each name of an assignment, else one.
    width: int = 1
    #: Whether one index alone has no dimension: ``m.nonzero().squeeze()``.
    is_squeezed: bool = False


def without_indices(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``len(torch.nonzero(m))``, ``m.nonzero()[0]``, ``torch.where(m)[0].sum()``, ``y[idx] = f(x[idx])``.

    Raises Refuse where it does not fit.
    """
    found = _indices(hit, editor)
    if found is None:
        return Refusal("This does not compute the indices of a mask.")
    if not found.reads:
        return Refusal("The indices are not used.")
    for call in calls(found.mask):
        if not is_pure(call, editor):
            raise Refuse(f"`{editor.code(call)}` may have side effects")
    plan = _first_ones(found, editor) or _reduced(found, editor) or _without(found, hit, editor)
    return plan or Refusal("The indices are used in more than one way, or where their number matters.")


def _indices(hit: Hit, editor: Editor) -> _Indices | None:
    call, event = hit.place, hit.event
    if not isinstance(call, cst.Call) or not isinstance(event, Call):
        return None
    is_function = is_torch_function(call, editor)
    mask = call.args[0].value if is_function and call.args else None
    if not is_function and isinstance(call.func, cst.Attribute):
        mask = call.func.value
    value = event.receiver if event.receiver is not None else event.args[0] if event.args else None
    tensor = tensor_of(value) if value is not None else None
    if mask is None or tensor is None or tensor.numpy:
        return None
    return _followed(call, mask, tensor, _gives_tuple(call), editor)


def _gives_tuple(call: cst.Call) -> bool:
    """``torch.where(m)`` and ``m.nonzero(as_tuple=True)``."""
    given = [a.value for a in call.args if a.keyword is not None and a.keyword.value == "as_tuple"]
    is_off = any(isinstance(value, cst.Name) and value.value == "False" for value in given)
    return called(call) == "where" or (bool(given) and not is_off)


def _followed(
    call: cst.Call, mask: cst.BaseExpression, tensor: Tensor, is_tuple: bool, editor: Editor
) -> _Indices | None:
    whole: cst.BaseExpression = call
    rank, is_bool, is_squeezed = tensor.ndim, tensor.dtype == "bool", False
    step = _step(whole, rank, is_tuple, editor)
    while step is not None:
        whole, is_tuple = step, False
        is_squeezed = is_squeezed or editor.code(step).endswith(".squeeze()")
        step = _step(whole, rank, is_tuple, editor)
    assign = editor.parent(whole)
    if not isinstance(assign, cst.Assign):
        return _Indices(call, mask, is_bool, rank, is_tuple, None, (whole,), is_squeezed=is_squeezed)
    target = assign.targets[0].target
    if isinstance(target, cst.Name):
        read = uses(assign, editor)
        return _Indices(call, mask, is_bool, rank, is_tuple, assign, read, is_squeezed=is_squeezed)
    if not isinstance(target, (cst.Tuple, cst.List)) or not is_tuple:
        return None
    reads = [read for element in target.elements for read in _reads(element.value, assign, editor)]
    width = len(target.elements)
    return _Indices(call, mask, is_bool, width, True, assign, reads, width)


def _step(node: cst.BaseExpression, rank: int | None, is_tuple: bool, editor: Editor) -> cst.BaseExpression | None:
    """``node.squeeze(1)``, ``node[:, 0]``, ``node[0]`` of a tuple: the indices of a mask of one dimension."""
    outer = editor.parent(node)
    if is_tuple:
        is_first = isinstance(outer, cst.Subscript) and outer.value is node and editor.code(outer).endswith("[0]")
        return outer if is_first and isinstance(outer, cst.Subscript) and rank == 1 else None
    if rank != 1 or not isinstance(outer, (cst.Attribute, cst.Subscript)) or outer.value is not node:
        return None
    if isinstance(outer, cst.Subscript):
        return outer if editor.code(outer).endswith("[:, 0]") else None
    call = editor.parent(outer)
    if not isinstance(call, cst.Call) or call.func is not outer:
        return None
    rest = editor.code(call).removeprefix(editor.code(node))
    flat = (
        ".squeeze()",
        ".squeeze(1)",
        ".squeeze(-1)",
        ".squeeze(dim=1)",
        ".squeeze(dim=-1)",
        ".flatten()",
        ".view(-1)",
    )
    return call if rest in (*flat, ".reshape(-1)", ".ravel()") else None


def _reads(name: cst.BaseExpression, assign: cst.Assign, editor: Editor) -> Sequence[cst.Name]:
    """Where one of several names that ``assign`` binds is read."""
    function = editor.function_of(assign)
    if not isinstance(name, cst.Name) or function is None or editor.assignments(function, name.value) != [name]:
        bound = editor.assignments(function, name.value) if isinstance(name, cst.Name) and function is not None else []
        if bound != [assign]:
            raise Refuse("the indices are not kept in names of their own")
    assert isinstance(name, cst.Name) and function is not None
    return [n for n in editor.mentions(function, name.value) if n is not name and not editor.is_label(n)]


def _first_ones(found: _Indices, editor: Editor) -> FixPlan | None:
    """``m.nonzero()[0]``: only so many indices are made."""
    numbers = [_number(read, editor) for read in found.reads]
    if found.is_tuple or found.is_squeezed or any(number is None for number in numbers):
        return None
    size = max(number for number in numbers if number is not None) + 1
    text = f"torch.nonzero_static({editor.code(found.mask)}, size={size})"
    edits = (*editor.torch_import(found.call), editor.replace(found.call, _columns(found, text)))
    return FixPlan(edits, "unsafe", _FIRST)


def _number(read: cst.BaseExpression, editor: Editor) -> int | None:
    """The literal of ``idx[2]``."""
    user = editor.parent(read)
    if not isinstance(user, cst.Subscript) or user.value is not read:
        return None
    index = user.slice[0].slice
    if not isinstance(index, cst.Index) or not isinstance(index.value, cst.Integer):
        return None
    return index.value.evaluated_value


def _columns(found: _Indices, text: str) -> str:
    """``text`` for what the call gave: a matrix, or a tuple of its columns."""
    return f"{text}.unbind(1)" if _gives_tuple(found.call) else text


def _reduced(found: _Indices, editor: Editor) -> FixPlan | None:
    """``idx.float().sum()``: a fixed number of rows, those after the last index neutral."""
    kinds = {_reduction(read, editor) for read in found.reads}
    kind = next(iter(kinds))
    if len(kinds) != 1 or kind not in _FILL:
        return None
    edits: list[Edit] = []
    mask = _named(found, edits, editor)
    text = f"torch.nonzero_static({mask}, size={mask}.numel(), fill_value={_FILL[kind]})"
    edits += [*editor.torch_import(found.call), editor.replace(found.call, _columns(found, text))]
    return FixPlan(tuple(edits), "unsafe", _FIXED.format(fill=_FILL[kind]))


def _reduction(read: cst.BaseExpression, editor: Editor) -> str:
    """The reduction over the rows of ``read.float().sum(0)``; empty for anything else."""
    node: cst.CSTNode = read
    while True:
        attribute = editor.parent(node)
        call = editor.parent(attribute) if attribute is not None else None
        if not isinstance(attribute, cst.Attribute) or not isinstance(call, cst.Call) or call.func is not attribute:
            return ""
        if called(call) not in _SAME_ROWS:
            over_rows = editor.code(call).endswith((f".{called(call)}()", ".sum(0)", ".sum(dim=0)"))
            return called(call) if over_rows else ""
        node = call


def _named(found: _Indices, edits: list[Edit], editor: Editor, copied: str = "") -> str:
    """A name for the mask, or for its copy; a line in front of the statement gives it one."""
    function = editor.function_of(found.call)
    if isinstance(found.mask, cst.Name) and not copied:
        if function is not None and len(editor.assignments(function, found.mask.value)) > 1:
            raise Refuse(f"`{found.mask.value}` is assigned more than once")
        return found.mask.value
    statement = editor.statement_of(found.call)
    if not isinstance(statement, cst.BaseSmallStatement) or isinstance(
        editor.parent(statement), cst.SimpleStatementSuite
    ):
        raise Refuse("the mask has no name")
    if any(isinstance(o, (cst.BaseComp, cst.Lambda, cst.IfExp, cst.BooleanOperation)) for o in _inside(found, editor)):
        raise Refuse("the mask has no name")
    indent, name = editor.indent_of(statement), editor.fresh("mask")
    line = editor.statement(indent, f"{name} = ", copied or editor.code(found.mask))
    edits.append(editor.insert_before(statement, line + editor.newline + indent))
    return name


def _inside(found: _Indices, editor: Editor) -> Sequence[cst.CSTNode]:
    """What is around the call, up to its statement."""
    statement = editor.statement_of(found.call)
    around = list(editor.ancestors(found.call))
    return around[: around.index(statement)]


def _without(found: _Indices, hit: Hit, editor: Editor) -> FixPlan | None:
    """The number of the indices by the mask, and what they select by the mask."""
    counts = {read: node for read in found.reads if (node := count_of(read, found.rank == 1, editor)) is not None}
    pairs = {p.statement: p for read in found.reads if found.rank == 1 and (p := paired(read, editor)) is not None}
    in_pairs = {index for pair in pairs.values() for index in pair.indices}
    selections = [
        s for read in found.reads if read not in in_pairs and (s := selects(read, found.width, editor)) is not None
    ]
    covered = {index for selection in selections for index in selection.indices} | set(counts) | in_pairs
    if covered != set(found.reads):
        return None
    if found.is_squeezed and any(not editor.code(node).endswith(("numel()", "nelement()")) for node in counts.values()):
        return None
    edits: list[Edit] = []
    mask = _mask_in_place(found, bool(selections or pairs), edits, editor)
    written: dict[cst.CSTNode, Edit] = {pair.statement: written_pair(pair, mask, editor) for pair in pairs.values()}
    for selection in selections:
        statement = editor.statement_of(selection.node)
        edit = written_selection(statement, selection, mask, found.rank, editor)
        if edit is None and found.is_squeezed:
            # Of one index alone, ``squeeze`` makes a value, which selects no row.
            return None
        if edit is None:
            edits.append(reduced_selection(selection, mask, found.rank, editor))
        else:
            written[statement] = edit
    unasked = {
        read: whole for read, node in counts.items() if (whole := only_writes(node, written, editor)) is not None
    }
    edits += [edit for _, edit in unasked.values()]
    inside = {node for branch, _ in unasked.values() for node in walk(branch)}
    edits += [edit for statement, edit in written.items() if statement not in inside]
    asked = [node for read, node in counts.items() if read not in unasked]
    flow = Flow(hit, editor)
    flow.written.update(dict.fromkeys(asked, f"torch.count_nonzero({mask})"))
    for node in asked:
        flow.follow(node, f"torch.count_nonzero({mask})")
    reasons = ((_COUNTED, bool(asked)), (_SELECTED, bool(selections)), (_PAIRED, bool(pairs)), (UNASKED, bool(unasked)))
    reason = " ".join(text for text, used in reasons if used)
    edits += flow.edits
    return FixPlan((*editor.torch_import(found.call), *edits), "unsafe", reason, known=("zero_gradients",))


def _mask_in_place(found: _Indices, has_selections: bool, edits: list[Edit], editor: Editor) -> str:
    """The mask as code for the places that read the indices; the assignment of the indices goes, or names the mask."""
    code = editor.code(found.mask)
    is_changed = isinstance(found.mask, (cst.Attribute, cst.Name)) and is_written(code, found.call, editor)
    copied = f"{tight(code)} != 0" if is_changed or (has_selections and not found.is_bool) else ""
    if found.assign is None:
        return _named(found, edits, editor, copied) if has_selections else code
    if isinstance(found.mask, cst.Name) and not copied:
        edits.append(editor.delete(found.assign))
        return _named(found, edits, editor)
    target = found.assign.targets[0].target
    start = target if isinstance(target, cst.Name) else target.elements[0].value  # type: ignore[attr-defined]
    name = editor.fresh(f"{editor.code(start)}_mask")
    edits.append(editor.replace(found.assign, f"{name} = {copied or code}"))
    return name
