"""Boolean-mask indexing that keeps the full shape: read-modify-write and reductions of what a mask selects."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import libcst as cst

from graphdoctor.fixes.analysis.conditions import receiver
from graphdoctor.fixes.analysis.mask_shape import spread
from graphdoctor.fixes.analysis.purity import HAZARDS, POINTWISE, called, calls, is_torch_function
from graphdoctor.fixes.analysis.types import is_tensor_like
from graphdoctor.fixes.analysis.uses import uses
from graphdoctor.fixes.branches.branch import branch_of
from graphdoctor.fixes.branches.branch_arms import statements
from graphdoctor.fixes.branches.finite_gradients import divides, is_root, operands, with_ones
from graphdoctor.fixes.branches.masked_writes import is_by, is_mask, selected
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import names
from graphdoctor.fixes.proof.aliasing import is_changed_in
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.domain.values import Tensor
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

_OPERATORS = {
    cst.AddAssign: "+", cst.SubtractAssign: "-", cst.MultiplyAssign: "*", cst.DivideAssign: "/", cst.PowerAssign: "**"
}  # fmt: skip
#: The value in the places that the mask leaves out, with which the reduction gives the same.
_NEUTRAL = {"sum": "0", "prod": "1", "any": "False", "all": "True"}
_NEUTRALISED = "The reduction runs over all elements, with those outside the mask neutral."
_EXTREME = " Where the mask selects nothing, the result is what stands there, and nothing raises."
_MEAN = (
    f"{_NEUTRALISED} The mean is a sum divided by a count; of many large numbers in float16 the sum may be infinite."
)


def write_masked(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``y[m] = f(x[m])`` and ``y[m] += v`` become ``y.copy_(torch.where(m, f(x), y))``: ``y`` stays the same object."""
    statement = editor.statement_of(hit.place)
    if isinstance(statement, cst.Assign):
        if len(statement.targets) != 1:
            return Refusal("The statement assigns more than one target.")
        target: cst.CSTNode = statement.targets[0].target
    elif isinstance(statement, cst.AugAssign) and type(statement.operator) in _OPERATORS:
        target = statement.target
    else:
        return Refusal("What the mask selects is not written back to where it came from.")
    is_place = isinstance(target, cst.Subscript) and isinstance(target.value, (cst.Name, cst.Attribute))
    # Of ``y[order[m]]`` the mask selects positions.
    is_nested = isinstance(target, cst.Subscript) and any(hit.place in set(walk(part)) for part in target.slice)
    if not isinstance(target, cst.Subscript) or not is_place or is_nested:
        return Refusal("What the mask selects is not written back to where it came from.")
    text = written_back(statement, target, _condition(target, hit, editor), editor)
    edits = (*editor.torch_import(statement), editor.replace(statement, text))
    return FixPlan(edits, "unsafe", element_reason([statement], editor))


def written_back(statement: cst.Assign | cst.AugAssign, target: cst.Subscript, condition: str, editor: Editor) -> str:
    """``y[m] = f(x[m])`` and ``y[m] += v`` as a choice for all elements. Refuses what is more than arithmetic."""
    place = editor.code(target.value)
    if _is_added_to_each(statement, editor):
        value = editor.code(statement.value)
    else:
        value = without_mask(statement.value, target.slice, editor)
        finite = _operands(statement.value, target, editor)
        if finite:
            ones = with_ones(statement.value, finite, condition).visit(_DropMask(target.slice))
            assert isinstance(ones, cst.BaseExpression)
            value = editor.module.tree.code_for_node(ones)
    if isinstance(statement, cst.AugAssign):
        if type(statement.operator) not in _OPERATORS:
            raise Refuse("what is selected is written back with an operator that has no plain form")
        value = _in_parentheses(statement.value, value)
        if _divides(statement, editor) and _may_ask_again(target):
            value = f"torch.where({condition}, {value}, 1)"
        value = f"{place} {_OPERATORS[type(statement.operator)]} {value}"
    return f"{place}.copy_(torch.where({condition}, {_of_copy(value, target.value)}, {place}))"


def _operands(
    value: cst.BaseExpression, target: cst.Subscript, editor: Editor
) -> Mapping[cst.CSTNode, cst.BaseExpression]:
    """What can make gradients NaN in the places that the mask of ``target`` leaves out, if it is not one there."""
    return operands(value, editor) if _may_ask_again(target) else {}


def _may_ask_again(target: cst.Subscript) -> bool:
    """Whether the mask of ``target`` may be written more than once: it calls nothing."""
    return not any(calls(element) for element in target.slice)


def _divides(statement: cst.Assign | cst.AugAssign, editor: Editor) -> bool:
    """Whether it is ``y[m] /= x[m]``, not by a number."""
    is_division = isinstance(statement, cst.AugAssign) and isinstance(statement.operator, cst.DivideAssign)
    return is_division and is_tensor_like(statement.value, editor)


def write_without_test(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``if m.any(): y[m] = f(x[m])`` becomes ``y.copy_(torch.where(m, f(x), y))``. Raises Refuse where it does not fit.

    Where the mask selects nothing, this writes what is there.
    """
    branch = branch_of(hit.place, editor)
    mask = selected(branch.test) if isinstance(branch, cst.If) else None
    if not isinstance(branch, cst.If) or mask is None or branch.orelse is not None:
        return Refusal("No branch tests whether a mask selects anything.")
    if editor.code(branch).startswith("elif") or not is_mask(mask, editor):
        return Refusal("The branch is one of several.")
    lines = [text for _, text in editor.module.comments(branch)]
    writes: list[cst.Assign | cst.AugAssign] = []
    written: set[str] = set()
    for statement in statements(branch.body):
        target = _target_by(mask, statement)
        if not isinstance(statement, (cst.Assign, cst.AugAssign)) or target is None or names(mask) & written:
            raise Refuse("the branch does more than write what its mask selects where the mask is true")
        lines.append(written_back(statement, target, _condition(target, hit, editor), editor))
        writes.append(statement)
        written |= names(target.value)
    edits = (*editor.torch_import(branch), editor.replace(branch, editor.lines(editor.indent_of(branch), *lines)))
    return FixPlan(edits, "unsafe", element_reason(writes, editor), known=("zero_gradients",))


def _target_by(mask: cst.BaseExpression, statement: cst.CSTNode) -> cst.Subscript | None:
    """``y[m]``, or ``y[..., m]``, of a statement that writes to it."""
    target: cst.CSTNode | None = None
    if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
        target = statement.targets[0].target
    elif isinstance(statement, cst.AugAssign):
        target = statement.target
    if not isinstance(target, cst.Subscript) or not isinstance(target.value, (cst.Name, cst.Attribute)):
        return None
    return target if is_by(target, mask) else None


def _of_copy(value: str, place: cst.BaseExpression) -> str:
    """``value`` of a copy of ``place``, which is written to, where gradients need it as it was: ``y.sin()``, ``y * w``.

    What a mask selects was a copy.
    """
    node = cst.parse_expression(value)
    needs = any(isinstance(n, cst.Call) or (isinstance(n, cst.BinaryOperation) and _keeps_both(n)) for n in walk(node))
    changed = node.visit(_Copy(place)) if needs else node
    return cst.Module([]).code_for_node(changed) if isinstance(changed, cst.CSTNode) else value


def _keeps_both(node: cst.BinaryOperation) -> bool:
    """Whether the gradient of an operand needs the other one, and neither is a plain number."""
    is_number = any(isinstance(side, (cst.Integer, cst.Float)) for side in (node.left, node.right))
    products = (cst.Multiply, cst.Divide)
    return isinstance(node.operator, cst.Power) or (isinstance(node.operator, products) and not is_number)


class _Copy(cst.CSTTransformer):
    """``y`` becomes ``y.clone()``."""

    def __init__(self, place: cst.BaseExpression) -> None:
        self.place = place

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        # How many dimensions it has does not change.
        asks = node.attr.value == "ndim" and node.value.deep_equals(self.place)
        return not asks and not node.deep_equals(self.place)

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        if original_node.deep_equals(self.place):
            return _clone(updated_node)
        # A label is no name.
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        return _clone(updated_node) if original_node.deep_equals(self.place) else updated_node

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        # Nor is a keyword.
        return updated_node.with_changes(keyword=original_node.keyword)


def _clone(node: cst.Name | cst.Attribute) -> cst.Call:
    return cst.Call(cst.Attribute(node, cst.Name("clone")))


def _is_added_to_each(statement: cst.Assign | cst.AugAssign, editor: Editor) -> bool:
    """``y[m] += self.embedding.weight``: what a module holds has sizes that no mask decides, so it fits any row.

    A product would keep ``y`` for the gradients, and ``y`` is written to.
    """
    is_sum = isinstance(statement, cst.AugAssign) and isinstance(
        statement.operator, (cst.AddAssign, cst.SubtractAssign)
    )
    held = editor.value(statement.value)
    return is_sum and isinstance(held, Tensor) and held.owned and not any(calls(statement.value))


def reduce_masked(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``x[m].sum()``, ``.mean()``, ``.max()`` of what a mask selects become reductions of the full shape.

    Raises Refuse where it does not fit.
    """
    selection = hit.place
    if isinstance(selection, cst.Subscript):
        tensor, mask = selection.value, _mask(selection)
    elif isinstance(selection, cst.Call) and called(selection) == "masked_select":
        tensor, mask = _select_operands(selection, editor)
    else:
        return Refusal("This is no selection by a mask.")
    reads: list[cst.CSTNode] = [selection]
    name = ""
    user = editor.parent(selection)
    if isinstance(user, cst.Assign):
        reads, name = list(uses(user, editor)), editor.code(user.targets[0].target)
    reductions = [_reduction(read, editor) for read in reads]
    if not reductions:
        return Refusal("What the mask selects is not used.")
    condition = spread(mask, tensor, hit, editor)
    edits = [*editor.torch_import(selection)]
    source = editor.code(tensor)
    kinds = {called(r) for r in reductions}
    if name and kinds <= set(_NEUTRAL) and len(kinds) == 1:
        edits.append(editor.replace(selection, f"torch.where({condition}, {source}, {_NEUTRAL[kinds.pop()]})"))
    else:
        if isinstance(user, cst.Assign):
            _check_unchanged(names(tensor) | names(mask), user, editor)
            edits.append(editor.delete(user))
        known = tensor_of(editor.value(tensor))
        dtype = known.dtype if known is not None else None
        edits += [editor.replace(r, _reduced(called(r), condition, source, dtype)) for r in reductions]
    reason = _MEAN if "mean" in kinds else _NEUTRALISED
    return FixPlan(tuple(edits), "unsafe", reason if kinds <= {*_NEUTRAL, "mean"} else reason + _EXTREME)


def _check_unchanged(read: Iterable[str], assign: cst.Assign, editor: Editor) -> None:
    """Refuse where one of the names ``read`` in ``assign`` may be another tensor, or changed, behind it."""
    function, line = editor.function_of(assign), editor.location(assign).line
    for name in read:
        bound = editor.assignments(function, name) if function is not None else []
        if (
            function is None
            or any(editor.location(b).line >= line for b in bound)
            or is_changed_in(function, name, editor)
        ):
            raise Refuse(
                f"`{name}` may change before what the mask selects is reduced; write the reduction with the mask"
            )


def _reduced(name: str, mask: str, tensor: str, dtype: str | None) -> str:
    if name in _NEUTRAL:
        return f"torch.where({mask}, {tensor}, {_NEUTRAL[name]}).{name}()"
    if name == "mean":
        return f"(torch.where({mask}, {tensor}, 0).sum() / {receiver(mask)}.expand_as({tensor}).sum())"
    if dtype == "bool":
        raise Refuse(f"`{name}` of what a mask selects has no form with the full shape")
    is_max = name in ("max", "amax")
    limit = f"torch.iinfo({receiver(tensor)}.dtype).{'min' if is_max else 'max'}"
    neutral = limit if dtype == "int" else f"{'-' if is_max else ''}torch.inf"
    return f"torch.where({mask}, {tensor}, {neutral}).{name}()"


def _reduction(read: cst.CSTNode, editor: Editor) -> cst.Call:
    """The call of ``read.sum()``."""
    attribute = editor.parent(read)
    call = editor.parent(attribute) if attribute is not None else None
    is_method = isinstance(attribute, cst.Attribute) and isinstance(call, cst.Call) and call.func is attribute
    if not is_method or not isinstance(call, cst.Call) or call.args:
        raise Refuse("what the mask selects is used as it is, and its size depends on the data")
    if called(call) not in (*_NEUTRAL, "mean", "max", "min", "amax", "amin"):
        raise Refuse(f"`{called(call)}` of what a mask selects has no form with the full shape")
    return call


def _condition(target: cst.Subscript, hit: Hit, editor: Editor) -> str:
    """The mask of ``y[m]`` and ``y[..., m]`` as ``torch.where`` takes it, which lines up the last dimensions."""
    first = target.slice[0].slice
    if len(target.slice) == 2 and isinstance(first, cst.Index) and isinstance(first.value, cst.Ellipsis):
        return editor.code(_mask(target.with_changes(slice=target.slice[1:])))
    return spread(_mask(target), target.value, hit, editor)


def _mask(node: cst.Subscript) -> cst.BaseExpression:
    index = node.slice[0].slice
    if len(node.slice) != 1 or not isinstance(index, cst.Index) or index.star is not None:
        raise Refuse("the mask is one of several indices")
    if any(isinstance(n, (cst.NamedExpr, cst.Await, cst.Yield)) for n in walk(index.value)):
        raise Refuse("the mask assigns, awaits or yields")
    return index.value


def _select_operands(call: cst.Call, editor: Editor) -> tuple[cst.BaseExpression, cst.BaseExpression]:
    values = [a.value for a in call.args]
    if isinstance(call.func, cst.Attribute) and not is_torch_function(call, editor):
        values.insert(0, call.func.value)
    if len(values) != 2:
        raise Refuse("the call of masked_select does not have the two arguments it needs")
    return values[0], values[1]


def without_mask(
    value: cst.BaseExpression, mask: Sequence[cst.SubscriptElement], editor: Editor, also: Collection[str] = ()
) -> str:
    """``value`` over the full shape: ``z[m]`` becomes ``z``. Refuses what is not computed element by element.

    ``also`` are methods that are, beside the operators.
    """
    drop = _DropMask(mask)
    changed = value.visit(drop)
    assert isinstance(changed, cst.BaseExpression)
    for call in calls(changed):
        if called(call) not in (*POINTWISE, *also) or not isinstance(call.func, cst.Attribute):
            raise Refuse(f"`{editor.module.tree.code_for_node(call)}` is not computed element by element")
    for node in walk(changed):
        if isinstance(node, (cst.Subscript, cst.MatrixMultiply, cst.BaseComp, cst.Lambda, cst.IfExp, cst.NamedExpr)):
            raise Refuse("the value is more than arithmetic on what the mask selects")
    if not drop.count and not isinstance(value, (cst.Integer, cst.Float, cst.UnaryOperation)):
        raise Refuse(f"`{editor.code(value)}` is not shown to be one number or to be selected by the same mask")
    labels = {n.attr for n in walk(changed) if isinstance(n, cst.Attribute)}
    read = {n.value for n in walk(changed) if isinstance(n, cst.Name) and n not in labels}
    loose = read - drop.tensors - {"torch", "self"} - editor.torch_names
    if drop.count and loose - {n for n in loose if _is_number(n, value, editor)}:
        raise Refuse(f"`{min(loose)}` is not selected by the mask, and not shown to be one number")
    return editor.module.tree.code_for_node(changed)


def _is_number(name: str, near: cst.BaseExpression, editor: Editor) -> bool:
    """The local ``name`` is a Python number: bound once, to a literal, or an argument with a number as default."""
    function = editor.function_of(near)
    bound = editor.assignments(function, name) if function is not None else []
    return len(bound) == 1 and isinstance(bound[0], cst.Assign) and isinstance(bound[0].value, (cst.Integer, cst.Float))


class _DropMask(cst.CSTTransformer):
    """``z[m]`` becomes ``z`` for one mask ``m``, or for the indices of one."""

    def __init__(self, mask: Sequence[cst.SubscriptElement]) -> None:
        self.mask = mask
        self.count = 0
        self.tensors: set[str] = set()

    def leave_Subscript(self, original_node: cst.Subscript, updated_node: cst.Subscript) -> cst.BaseExpression:
        if same_selection(original_node.slice, self.mask):
            self.count += 1
            self.tensors |= names(original_node.value)
            return updated_node.value
        return updated_node


def same_selection(one: Sequence[cst.SubscriptElement], other: Sequence[cst.SubscriptElement]) -> bool:
    """Whether two subscripts select by the same mask or indices, whatever whitespace stands in them."""
    pairs = zip(one, other, strict=False)
    return len(one) == len(other) and all(a.slice.deep_equals(b.slice) for a, b in pairs)


def _in_parentheses(node: cst.BaseExpression, text: str) -> str:
    is_tight = isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Integer, cst.Float)) or node.lpar
    return text if is_tight else f"({text})"


def element_reason(statements: Iterable[cst.Assign | cst.AugAssign], editor: Editor) -> str:
    """Why ``written_back`` keeps the results of ``statements``, and where gradients may become NaN."""
    hazards: list[str] = []
    for statement in statements:
        target = statement.targets[0].target if isinstance(statement, cst.Assign) else statement.target
        assert isinstance(target, cst.Subscript)
        kept = _operands(statement.value, target, editor)
        loose = [node for node in walk(statement.value) if node not in kept]
        hazards += [called(n) for n in loose if isinstance(n, cst.Call) and called(n) in HAZARDS]
        for node in loose:
            if isinstance(node, cst.BinaryOperation) and divides(node):
                hazards.append("power" if is_root(node) else "division")
        if _divides(statement, editor) and not _may_ask_again(target):
            hazards.append("division")
    text = "The value is computed for all elements and kept where the mask is true."
    return f"{text} `{hazards[0]}` outside the mask can make gradients NaN." if hazards else text
