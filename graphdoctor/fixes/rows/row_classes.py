"""The loss of the classes of rows that one mask selects: ``F.cross_entropy(x[e].view(-1, c), y[m])``.

Detection losses spread the mask of the rows over the classes, select from the scores one by one, and make rows again.
The scores of all rows have the same loss where the others get the label that it ignores.
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from graphdoctor.fixes.analysis.held_before import bound_in_block
from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.analysis.uses import uses
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.put_in_place import PutInPlace
from graphdoctor.fixes.core.scope import names
from graphdoctor.fixes.rows.masked_values import is_loss_of_classes
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.domain.values import TorchModule
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find, walk

_REASON = "All rows are computed; those that the mask leaves out get the label that the loss ignores."


def ignore_other_rows(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``x[e].view(-1, c)`` and ``y[m]``, where ``e`` is ``m`` for each class. Raises Refuse where it does not fit."""
    selection, function = hit.place, editor.function_of(hit.place)
    if not isinstance(selection, cst.Subscript) or function is None:
        return Refusal("This is no selection by one mask.")
    for call in find(function, cst.Call):
        if len(call.args) < 2 or not is_loss_of_classes(call, editor) or any(a.star for a in call.args):
            continue
        scores, labels = (_given(argument, editor) for argument in call.args[:2])
        if scores is not None and labels is not None and selection in {*walk(scores), *walk(labels)}:
            return _all_rows(call, scores, labels, editor)
    return Refusal("No loss of classes gets what the mask selects.")


def _given(argument: cst.Arg, editor: Editor) -> cst.BaseExpression | None:
    """What a loss is given: the argument, or the value of a name that nothing else reads."""
    value = argument.value
    if argument.keyword is not None or not isinstance(value, cst.Name):
        return None if argument.keyword is not None else value
    bound = bound_in_block(value.value, editor.statement_of(value), editor)
    try:
        return bound.value if bound is not None and list(uses(bound, editor)) == [value] else None
    except Refuse:
        return None


def _all_rows(
    call: cst.Call, scores: cst.BaseExpression, labels: cst.BaseExpression, editor: Editor
) -> FixPlan | Refusal:
    """The plan for one loss. Raises Refuse where it does not fit."""
    spread, rows = _selected(scores), _selected(labels)
    inner = scores.func.value if isinstance(scores, cst.Call) and isinstance(scores.func, cst.Attribute) else None
    size = [editor.code(a) for a in scores.args] if isinstance(scores, cst.Call) else []
    if inner is not None and called(scores) in ("view", "reshape"):  # type: ignore[arg-type]
        spread = _selected(inner)
    if spread is None or rows is None or len(size) != 2 or size[0] != "-1":
        return Refusal("The scores are not made rows again after a mask selects from them.")
    mask = _index(rows)
    known = tensor_of(editor.value(mask))
    if known is None or known.dtype != "bool" or known.numpy:
        raise Refuse(f"`{editor.code(mask)}` is not shown to be a mask")
    bound = _spread_masks(spread, editor)
    of_rows = _index(spread).visit(PutInPlace({name: _row(each) for name, each in bound.items()}))
    if not of_rows.deep_equals(mask):  # type: ignore[union-attr]
        raise Refuse(f"`{editor.code(_index(spread))}` is not shown to be `{editor.code(mask)}` for each class")
    ignored = _ignored(call, editor)
    every = f"{editor.operand(spread.value)}.reshape({', '.join(size)})"
    chosen = f"torch.where({editor.code(mask)}, {editor.code(rows.value)}, {ignored}).flatten()"
    unread = [each for each in bound.values() if _is_read_in(each, spread, editor)]
    edits = (*map(editor.delete, unread), editor.replace(scores, every), editor.replace(labels, chosen))
    return FixPlan((*editor.torch_import(call), *edits), "unsafe", _REASON, known=("zero_gradients",))


def _is_read_in(bound: cst.Assign, node: cst.CSTNode, editor: Editor) -> bool:
    """Whether what ``bound`` gives a name is read in ``node`` alone."""
    try:
        return {*uses(bound, editor)} <= {*walk(node)}
    except Refuse:
        return False


def _selected(node: cst.CSTNode | None) -> cst.Subscript | None:
    """``x[m]`` with one index."""
    is_one = isinstance(node, cst.Subscript) and len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index)
    return node if isinstance(node, cst.Subscript) and is_one else None


def _index(selection: cst.Subscript) -> cst.BaseExpression:
    index = selection.slice[0].slice
    assert isinstance(index, cst.Index)
    return index.value


def _spread_masks(selection: cst.Subscript, editor: Editor) -> Mapping[str, cst.Assign]:
    """The assignments that spread masks of the rows over what is selected from, by the names in the mask."""
    mask, statement = _index(selection), editor.statement_of(selection)
    found: dict[str, cst.Assign] = {}
    for name in sorted({n.value for n in find(mask, cst.Name) if not editor.is_label(n)}):
        bound = bound_in_block(name, statement, editor)
        row = _spread(bound.value, selection.value) if bound is not None else None
        if bound is None or row is None or any(_changes(n, bound, statement, editor) for n in names(row)):
            raise Refuse(f"`{name}` is not a mask of the rows that is spread over `{editor.code(selection.value)}`")
        found[name] = bound
    return found


def _changes(name: str, start: cst.CSTNode, end: cst.CSTNode, editor: Editor) -> bool:
    """Whether ``name`` gets another value between two lines of a block."""
    return bound_in_block(name, start, editor) is not bound_in_block(name, end, editor)


def _row(bound: cst.Assign) -> cst.BaseExpression:
    """``m`` of ``e = m.unsqueeze(2).expand_as(x)``."""
    return bound.value.func.value.func.value  # type: ignore[attr-defined, no-any-return]


def _spread(value: cst.BaseExpression, over: cst.BaseExpression) -> cst.BaseExpression | None:
    """``m`` of ``m.unsqueeze(2).expand_as(x)``."""
    if not isinstance(value, cst.Call) or called(value) != "expand_as" or len(value.args) != 1:
        return None
    longer = value.func.value if isinstance(value.func, cst.Attribute) else None
    if not isinstance(longer, cst.Call) or called(longer) != "unsqueeze" or not value.args[0].value.deep_equals(over):
        return None
    row = longer.func.value if isinstance(longer.func, cst.Attribute) else None
    return row if isinstance(row, cst.Name) else None


def _ignored(call: cst.Call, editor: Editor) -> str:
    """The label that the loss ignores. Refuses a loss that has a value for each row."""
    if isinstance(editor.value(call.func), TorchModule):
        raise Refuse(f"the options of `{editor.code(call.func)}` are not known here")
    given = {a.keyword.value: editor.code(a.value) for a in call.args if a.keyword is not None}
    if given.get("reduce", "None") != "None" or given.get("reduction", "'sum'").strip("'\"") not in ("sum", "mean"):
        raise Refuse(f"`{editor.code(call)}` has a value for each row")
    if len(call.args) - len(given) > 2:
        raise Refuse(f"the options of `{editor.code(call.func)}` are not known here")
    return given.get("ignore_index", "-100")
