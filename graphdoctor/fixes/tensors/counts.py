"""How many there are, without what is counted: numbers (``bincount``), different values, what a mask selects."""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.conditions import receiver
from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.analysis.purity import called, calls, is_pure
from graphdoctor.fixes.analysis.uses import uses
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.proof.aliasing import is_written
from graphdoctor.fixes.tensors.asked_counts import count_of
from graphdoctor.fixes.tensors.masks import without_mask
from graphdoctor.fixes.tensors.number_flow import Flow
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

_REASON = (
    "Counts into `{length}` zeros: a number of `{length}` or more is an error, where `bincount` made the result longer."
)
_DISTINCT = (
    "Only the number of values is used: neighbours that differ are counted, and the values are no longer computed."
)
_SELECTED = "Only the number of selected elements is used: the mask is summed, and its shape is no longer checked."


def count_kept(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``torch.bincount(x[m], minlength=n)`` adds the mask itself into ``n`` zeros. Raises Refuse where it does not fit.

    What is counted has one dimension, so the mask has the shape of ``x``. What it leaves out adds 0, at index 0.
    """
    call = next((n for n in (hit.place, *editor.ancestors(hit.place)) if _counts(n)), None)
    statement = editor.statement_of(hit.place)
    if not isinstance(call, cst.Call):
        return Refusal("Nothing is counted by bincount.")
    given = {a.keyword.value: a.value for a in call.args if a.keyword is not None}
    selected = next((n for n in walk(call.args[0].value) if isinstance(n, cst.Subscript)), None)
    index = selected.slice[0].slice if selected is not None and len(selected.slice) == 1 else None
    if set(given) != {"minlength"} or selected is None or not isinstance(index, cst.Index):
        raise Refuse("what is counted is not selected by one mask")
    mask = tensor_of(editor.value(index.value))
    if mask is None or mask.dtype != "bool" or mask.numpy:
        raise Refuse("what is counted is not selected by one mask")
    numbers = without_mask(call.args[0].value, selected.slice, editor, ("int", "long"))
    if any(not is_pure(c, editor) for part in (call.args[0], index.value) for c in calls(part)):
        raise Refuse(f"`{editor.code(call.args[0].value)}` would be computed in another order")
    line = editor.parent(statement)
    is_first = _runs_first(call, editor) or (isinstance(statement, cst.AugAssign) and statement.value is call)
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1 or not is_first:
        raise Refuse("the count stands in the middle of a statement")
    indent, name, keep = editor.indent_of(line), editor.fresh("indices"), editor.code(index.value)
    above = []
    if not isinstance(index.value, cst.Name):
        above, keep = [f"{editor.fresh('keep')} = {keep}"], editor.fresh("keep")
    above.append(f"{name} = torch.where({keep}, {numbers}, 0).flatten().long()")
    length = editor.code(given["minlength"])
    text = f"{name}.new_zeros({length}).scatter_add_(0, {name}, {keep}.flatten().long())"
    edits = (editor.insert_before(line.body[0], editor.lines(indent, *above, "")), editor.replace(call, text))
    return FixPlan((*editor.torch_import(call), *edits), "unsafe", _REASON.format(length=length))


def _counts(node: cst.CSTNode) -> bool:
    """``torch.bincount(x, minlength=n)``."""
    is_call = isinstance(node, cst.Call) and called(node) == "bincount" and len(node.args) == 2
    return is_call and node.args[0].keyword is None and not node.args[0].star  # type: ignore[attr-defined]


def count_into(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``torch.bincount(x, minlength=n)`` becomes ``torch.zeros(n).scatter_add_(0, x, ones)``, in whole numbers.

    Raises Refuse where it does not fit.
    """
    call = hit.place
    if not isinstance(call, cst.Call) or called(call) != "bincount" or any(a.star for a in call.args):
        return Refusal("Nothing is counted by bincount.")
    given = {a.keyword.value: a.value for a in call.args if a.keyword is not None}
    plain = [a.value for a in call.args if a.keyword is None]
    if dotted_name(call.func, editor) != "torch.bincount" and isinstance(call.func, cst.Attribute):
        plain.insert(0, call.func.value)
    given |= dict(zip(("input", "weights", "minlength"), plain, strict=False))
    if "input" not in given or "minlength" not in given:
        raise Refuse("how long the result has to be is not given; `minlength` says it")
    if "weights" in given and editor.code(given["weights"]) != "None":
        raise Refuse("weights are added up, in a dtype of their own")
    numbers = editor.operand(given["input"])
    for node in walk(given["input"]):
        if isinstance(node, (cst.NamedExpr, cst.Await, cst.Yield)):
            raise Refuse(f"`{numbers}` would be computed more than once")
    if any(not is_pure(c, editor) for c in calls(given["input"])):
        raise Refuse(f"`{numbers}` would be computed more than once")
    length = editor.code(given["minlength"])
    imports, line = editor.torch_import(call), editor.parent(editor.statement_of(call))
    if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 and _runs_first(call, editor):
        name = editor.fresh("indices")
        text = f"{name}.new_zeros({length}).scatter_add_(0, {name}, torch.ones_like({name}))"
        above = editor.lines(editor.indent_of(line), f"{name} = {numbers}.long()", "")
        edits = (*imports, editor.insert_before(line.body[0], above), editor.replace(call, text))
    else:
        text = (
            f"{numbers}.new_zeros({length}, dtype=torch.int64)"
            f".scatter_add_(0, {numbers}.long(), torch.ones_like({numbers}, dtype=torch.int64))"
        )
        edits = (*imports, editor.replace(call, text))
    return FixPlan(edits, "unsafe", _REASON.format(length=length))


def _runs_first(call: cst.Call, editor: Editor) -> bool:
    """Whether nothing that could change what it counts is computed before ``call`` in its statement."""
    inner: cst.CSTNode = call
    for outer in editor.ancestors(call):
        if isinstance(outer, (cst.Assign, cst.Return)):
            return outer.value is inner
        is_first = (isinstance(outer, cst.Attribute) and outer.value is inner) or (
            isinstance(outer, cst.Call) and outer.func is inner
        )
        if not is_first and not (isinstance(outer, cst.BinaryOperation) and outer.left is inner):
            return False
        inner = outer
    return False


def count_distinct(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``len(torch.unique(x)) > 1`` with a sum over the sorted ``x``. Raises Refuse where it does not fit."""
    call = hit.place
    if not isinstance(call, cst.Call) or called(call) not in ("unique", "unique_consecutive"):
        return Refusal("This does not compute the distinct values of a tensor.")
    values = _whole_values(call, editor)
    assign = editor.parent(call)
    reads = uses(assign, editor) if isinstance(assign, cst.Assign) else (call,)
    counts = [count_of(read, True, editor) for read in reads]
    if not counts or None in counts:
        raise Refuse("the values are used, and not only how many there are")
    code = editor.operand(values)
    for node in walk(values):
        impure = isinstance(node, cst.Call) and not is_pure(node, editor)
        if impure or isinstance(node, (cst.NamedExpr, cst.Await, cst.Yield)):
            raise Refuse(f"`{code}` would be computed more than once")
    flat = f"{code}.flatten()" if called(call) == "unique_consecutive" else f"{code}.flatten().sort().values"
    known = tensor_of(editor.value(values))
    is_whole = known is not None and known.dtype in ("bool", "int")
    differ = f"{flat}.diff() != 0" if is_whole else f"{flat}[1:] != {flat}[:-1]"
    text = f"(({differ}).sum() + min({code}.numel(), 1))"
    flow = Flow(hit, editor)
    flow.written.update((node, text) for node in counts if node is not None)
    for node in flow.written:
        assert isinstance(node, cst.BaseExpression)
        flow.follow(node, text)
    gone = (editor.delete(assign),) if isinstance(assign, cst.Assign) else ()
    return FixPlan((*editor.torch_import(call), *gone, *flow.edits), "unsafe", _DISTINCT)


def _whole_values(call: cst.Call, editor: Editor) -> cst.BaseExpression:
    """What ``call`` looks at. Refuses where it gives more than the different values of all of it."""
    if any(a.star or (a.keyword is not None and a.keyword.value not in ("input", "sorted")) for a in call.args):
        raise Refuse("more is used than the distinct values of a whole tensor")
    plain = [a.value for a in call.args if a.keyword is None or a.keyword.value == "input"]
    if dotted_name(call.func, editor) != f"torch.{called(call)}" and isinstance(call.func, cst.Attribute):
        plain.insert(0, call.func.value)
    if len(plain) != 1:
        raise Refuse("more is used than the distinct values of a whole tensor")
    return plain[0]


def count_selected(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``x[m].numel()`` becomes a count of what is true in the mask. Raises Refuse where it does not fit."""
    place = hit.place
    index = place.slice[0].slice if isinstance(place, cst.Subscript) and len(place.slice) == 1 else None
    if not isinstance(place, cst.Subscript) or not isinstance(index, cst.Index) or index.star is not None:
        return Refusal("This selects by no mask alone.")
    mask, tensor = tensor_of(editor.value(index.value)), tensor_of(editor.value(place.value))
    if mask is None or mask.dtype != "bool" or mask.numpy or tensor is None:
        return Refusal("This selects by no mask alone.")
    assign = editor.parent(place)
    reads = uses(assign, editor) if isinstance(assign, cst.Assign) else (place,)
    counts = [(read, count_of(read, True, editor)) for read in reads]
    if not counts or any(node is None for _, node in counts):
        raise Refuse("what the mask selects is used, and not only how much it is")
    for call in (*calls(index.value), *calls(place.value)):
        if not is_pure(call, editor):
            raise Refuse(f"`{editor.code(call)}` may have side effects")
    rows = f"torch.count_nonzero({editor.code(index.value)})"
    is_flat = mask.ndim is not None and mask.ndim == tensor.ndim
    every = rows if is_flat else f"({rows} * {_size_of_row(place.value, index.value, editor)})"
    texts = [
        every if editor.code(node).endswith((".numel()", ".nelement()")) else rows
        for _, node in counts
        if node is not None
    ]
    edits = []
    if isinstance(assign, cst.Assign):
        follows = editor.following(editor.parent(assign) or assign)
        is_next = follows is not None and all(read in set(walk(follows)) for read in reads)
        if is_next or all(_is_kept(node, editor) for node in (place.value, index.value)):
            edits.append(editor.delete(assign))
        elif len(set(texts)) == 1:
            name = editor.fresh("count")
            edits.append(editor.replace(assign, editor.statement(editor.indent_of(assign), f"{name} = ", texts[0])))
            texts = [name] * len(texts)
        else:
            raise Refuse(f"both the rows and the numbers of `{editor.code(assign.targets[0].target)}` are counted")
    flow = Flow(hit, editor)
    for (_, node), text in zip(counts, texts, strict=True):
        assert node is not None
        flow.number_of(node, text)
    return FixPlan((*editor.torch_import(place), *edits, *flow.edits), "unsafe", _SELECTED)


def _is_kept(node: cst.BaseExpression, editor: Editor) -> bool:
    """Whether ``node`` is a name that surely means the same wherever it is read."""
    function = editor.function_of(node)
    bound = editor.assignments(function, node.value) if isinstance(node, cst.Name) and function is not None else []
    return isinstance(node, cst.Name) and len(bound) <= 1 and not is_written(node.value, node, editor)


def _size_of_row(tensor: cst.BaseExpression, mask: cst.BaseExpression, editor: Editor) -> str:
    """How many numbers of ``tensor`` belong to one element of the mask."""
    return f"{editor.operand(tensor)}.shape[{receiver(editor.code(mask))}.ndim :].numel()"
