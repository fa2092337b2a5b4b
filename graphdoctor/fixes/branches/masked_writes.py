"""``if mask.any():`` before code that only writes where the mask is true: without the test it writes the same.

The test saves work where nothing is selected, and depends on data. A write by a mask that is nowhere true writes
nothing. ``y[m] = rows`` becomes ``y.masked_scatter_(m[..., None], rows)``, which takes rows that nothing asks for.
What is written to may be copied first, ``y = y.clone()``: the copy is made in each call then.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.purity import called, calls, is_pure, words
from graphdoctor.fixes.analysis.selected_rows import masks_in
from graphdoctor.fixes.analysis.types import is_number
from graphdoctor.fixes.branches.branch import branch_of
from graphdoctor.fixes.branches.branch_arms import check_calls, is_helper, statements
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import names
from graphdoctor.static.domain.value_functions import options, tensor_of
from graphdoctor.static.domain.values import Tensor
from graphdoctor.static.rule import FixPlan, Hit, Refusal

_ROWS = (
    "{codes} in each call. Where the mask selects nothing, nothing is written; where there are more rows than it "
    "selects, the first ones are, and nothing raises. What only such rows use gets gradients of zero, not None."
)
_REASON = "The selected elements are written without a test: where there are none, autograd still counts a write."
#: Methods whose result has the elements of the tensor, in another shape.
_SHAPES = words("expand expand_as flatten permute reshape squeeze transpose unsqueeze view")
_COPY = (
    " `{name}` is copied in each call, also where nothing is selected: a later write no longer shows in the original."
)


def write_by_mask(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """The branch goes, and what it writes by the mask stays. Raises Refuse where it does not fit."""
    branch = branch_of(hit.place, editor)
    mask = selected(branch.test) if isinstance(branch, cst.If) else None
    if not isinstance(branch, cst.If) or mask is None or branch.orelse is not None:
        return Refusal("No branch tests whether a mask selects anything.")
    if editor.code(branch).startswith("elif"):
        return Refusal("The branch is one of several.")
    body = list(statements(branch.body))
    if not _is_scalar_write(body[-1], editor):
        return _write_rows(branch, mask, editor)
    copied = [name for name in map(_copied, body) if name]
    writes = [statement for statement in body if not _copied(statement)]
    targets = frozenset(_written(statement, mask, editor) for statement in writes)
    if len(writes) > 1 and names(mask) & targets:
        raise Refuse("the branch changes what its mask is made of")
    if not targets.issuperset(copied) or any(map(_copied, body[len(copied) :])):
        raise Refuse("the branch copies more than what it writes to")
    indent = editor.indent_of(branch)
    lines = [text for _, text in editor.module.comments(branch)]
    lines += [editor.dedented(statement, indent) for statement in body]
    reason = _REASON + "".join(_COPY.format(name=name) for name in copied)
    return FixPlan((editor.replace(branch, editor.lines(indent, *lines)),), "unsafe", reason)


def fill_without_test(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``if m.any(): x = x.masked_fill(m[:, None], 0)`` without the test: where the mask is false, ``x`` stays as it is.

    Raises Refuse where it does not fit.
    """
    branch = branch_of(hit.place, editor)
    mask = selected(branch.test) if isinstance(branch, cst.If) else None
    if not isinstance(branch, cst.If) or mask is None or branch.orelse is not None:
        return Refusal("No branch tests whether a mask selects anything.")
    body = list(statements(branch.body))
    filled = [_filled(statement, mask, editor) for statement in body]
    if editor.code(branch).startswith("elif") or not all(filled) or not is_mask(mask, editor):
        return Refusal("The branch does more than fill in a number where its mask is true.")
    if len(body) > 1 and names(mask) & set(filled):
        return Refusal("The branch changes what its mask is made of.")
    indent = editor.indent_of(branch)
    lines = [text for _, text in editor.module.comments(branch)]
    lines += [editor.dedented(statement, indent) for statement in body]
    reason = "".join(_COPY.format(name=name) for name in dict.fromkeys(filled)).lstrip()
    return FixPlan((editor.replace(branch, editor.lines(indent, *lines)),), "unsafe", reason)


def _filled(statement: cst.CSTNode, mask: cst.BaseExpression, editor: Editor) -> str:
    """``x`` of ``x = x.masked_fill(m[:, None], 0)``; empty for anything else."""
    assign = statement if isinstance(statement, cst.Assign) and len(statement.targets) == 1 else None
    call = assign.value if assign is not None else None
    if assign is None or not isinstance(call, cst.Call) or called(call) != "masked_fill" or len(call.args) != 2:
        return ""
    target, owner = assign.targets[0].target, call.func.value if isinstance(call.func, cst.Attribute) else None
    is_same = isinstance(target, cst.Name) and isinstance(owner, cst.Name) and target.value == owner.value
    where, value = (arg.value for arg in call.args)
    if not is_same or any(arg.keyword or arg.star for arg in call.args) or not _same(_unshaped(where), mask):
        return ""
    is_scalar = is_number(value, editor) or _is_limit(value)
    is_plain = is_scalar and all(is_pure(part, editor, python=True) for part in calls(value))
    return target.value if is_plain and isinstance(target, cst.Name) else ""


def _unshaped(node: cst.BaseExpression) -> cst.BaseExpression:
    """``m`` of ``m[:, None]`` and ``m.unsqueeze(1)``, which have the elements of ``m`` in another shape."""
    while True:
        if isinstance(node, cst.Subscript) and all(_is_everything(e.slice) or _is_new(e.slice) for e in node.slice):
            node = node.value
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and called(node) in _SHAPES:
            node = node.func.value
        else:
            return node


def _is_new(element: cst.BaseSlice) -> bool:
    value = element.value if isinstance(element, cst.Index) else None
    return isinstance(value, cst.Name) and value.value == "None"


def _copied(statement: cst.CSTNode) -> str:
    """``y`` of ``y = y.clone()``; empty for anything else."""
    target = statement.targets[0].target if isinstance(statement, cst.Assign) and len(statement.targets) == 1 else None
    call = statement.value if isinstance(statement, cst.Assign) else None
    if not isinstance(target, cst.Name) or not isinstance(call, cst.Call) or called(call) != "clone" or call.args:
        return ""
    owner = call.func.value if isinstance(call.func, cst.Attribute) else None
    return target.value if isinstance(owner, cst.Name) and owner.value == target.value else ""


def _is_scalar_write(statement: cst.CSTNode, editor: Editor) -> bool:
    """False for ``y[m] = rows``."""
    target = statement.targets[0].target if isinstance(statement, cst.Assign) else None
    if not isinstance(statement, cst.Assign) or not isinstance(target, cst.Subscript):
        return True
    tensor = tensor_of(editor.value(statement.value))
    return tensor is None or tensor.ndim == 0 or any(True for _ in masks_in(statement.value, editor))


def _write_rows(branch: cst.If, mask: cst.BaseExpression, editor: Editor) -> FixPlan:
    """``feats = f(images)`` and ``y[m] = feats``, without the test around them."""
    *helpers, last = statements(branch.body)
    assert isinstance(last, cst.Assign) and isinstance(last.targets[0].target, cst.Subscript)
    target = last.targets[0].target
    if len(last.targets) != 1 or not is_by(target, mask) or not is_mask(mask, editor):
        raise Refuse("the branch does more than write rows where its mask is true")
    if len(target.slice) != 1 or not isinstance(target.value, cst.Name):
        raise Refuse("what is written to is no plain name")
    indent, lines, ran = editor.indent_of(branch), [text for _, text in editor.module.comments(branch)], []
    copies = ""
    for helper in helpers:
        if _copied(helper) == target.value.value and not copies:
            lines.append(editor.dedented(helper, indent))
            copies = _COPY.format(name=target.value.value)
            continue
        name = helper.targets[0].target if isinstance(helper, cst.Assign) and len(helper.targets) == 1 else None
        if not isinstance(helper, cst.Assign) or not isinstance(name, cst.Name):
            raise Refuse("the branch does more than write rows where its mask is true")
        if not is_helper(name.value, branch.body, editor) or name.value in names(branch.test):
            raise Refuse(f"`{name.value}` is used outside the branch too")
        check_calls(helper.value, editor)
        lines.append(editor.dedented(helper, indent))
        ran.append(editor.code(helper.value))
    check_calls(last.value, editor)
    ran.append(editor.code(last.value))
    over = _over(mask, target.value, last.value, editor)
    lines.append(f"{target.value.value}.masked_scatter_({over}, {editor.code(last.value)})")
    reason = _ROWS.format(codes=f"`{'` and `'.join(ran)}` run{'s' if len(ran) == 1 else ''}") + copies
    edit = editor.replace(branch, editor.lines(indent, *lines))
    return FixPlan((edit,), "unsafe", reason, known=("zero_gradients",))


def _over(mask: cst.BaseExpression, written: cst.BaseExpression, rows: cst.BaseExpression, editor: Editor) -> str:
    """``mask`` with the dimensions that ``written`` has after its own. Refuses ``rows`` that are known to be none."""
    ndim, by, given = (known.ndim if (known := tensor_of(editor.value(n))) else None for n in (written, mask, rows))
    code = editor.operand(mask)
    if ndim is None or by is None:
        return f"{code}[(...,) + (None,) * ({editor.code(written)}.ndim - {code}.ndim)]"
    if given not in (None, ndim - by + 1):
        raise Refuse("what is written is no row for each selected place")
    return f"{code}[...{', None' * (ndim - by)}]" if ndim > by else editor.code(mask)


def selected(test: cst.BaseExpression) -> cst.BaseExpression | None:
    """The mask of which ``test`` asks whether it is true anywhere: ``m.any()``, ``m.sum() > 0``, ``not k.all()``."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        kept = _reduced(test.expression, "all")
        return None if kept is None else cst.UnaryOperation(cst.BitInvert(), kept)
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        (part,) = test.comparisons
        bound = part.comparator.value if isinstance(part.comparator, cst.Integer) else ""
        is_any = (type(part.operator), bound) in ((cst.GreaterThan, "0"), (cst.GreaterThanEqual, "1"))
        return _reduced(test.left, "sum") if is_any else None
    return _reduced(test, "any")


def _reduced(node: cst.BaseExpression, name: str) -> cst.BaseExpression | None:
    """``m`` of ``m.any()``, ``torch.any(m)`` and ``bool(m.any())``."""
    if not isinstance(node, cst.Call):
        return None
    if called(node) == "bool" and isinstance(node.func, cst.Name) and len(node.args) == 1:
        return _reduced(node.args[0].value, name)
    if called(node) != name or not isinstance(node.func, cst.Attribute):
        return None
    owner = node.func.value
    if isinstance(owner, cst.Name) and owner.value == "torch":
        return node.args[0].value if len(node.args) == 1 else None
    return owner if not node.args else None


def _written(statement: cst.CSTNode, mask: cst.BaseExpression, editor: Editor) -> str:
    """The name of the tensor that ``statement`` writes a number to where ``mask`` is true. Raises Refuse."""
    if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0].target, statement.value
        if isinstance(target, cst.Subscript) and is_by(target, mask) and is_mask(mask, editor):
            return _checked(target.value, value, editor)
    call = statement.value if isinstance(statement, cst.Expr) else None
    if isinstance(call, cst.Call) and called(call) == "masked_fill_" and isinstance(call.func, cst.Attribute):
        plain = len(call.args) == 2 and not any(arg.keyword or arg.star for arg in call.args)
        if plain and _same(call.args[0].value, mask):
            return _checked(call.func.value, call.args[1].value, editor)
    raise Refuse("the branch does more than write a number where its mask is true")


def _checked(tensor: cst.BaseExpression, value: cst.BaseExpression, editor: Editor) -> str:
    if not isinstance(tensor, cst.Name):
        raise Refuse("what is written to is no plain name")
    is_scalar = is_number(value, editor) or _is_limit(value)
    if not is_scalar or not all(is_pure(call, editor, python=True) for call in calls(value)):
        raise Refuse("what is written is not shown to be a number")
    return tensor.value


def _is_limit(value: cst.BaseExpression) -> bool:
    """Whether ``value`` is ``torch.finfo(x.dtype).min`` or another number of a dtype."""
    value = value.expression if isinstance(value, cst.UnaryOperation) else value
    owner = value.value if isinstance(value, cst.Attribute) else None
    return isinstance(owner, cst.Call) and called(owner) in ("finfo", "iinfo")


def is_by(target: cst.Subscript, mask: cst.BaseExpression) -> bool:
    """Whether ``target`` is ``y[m]``, or has slices of everything beside the mask."""
    indices = [e.slice for e in target.slice if not _is_everything(e.slice)]
    return len(indices) == 1 and isinstance(indices[0], cst.Index) and _same(indices[0].value, mask)


def _is_everything(element: cst.BaseSlice) -> bool:
    if isinstance(element, cst.Slice):
        return element.lower is None and element.upper is None and element.step is None
    return isinstance(element.value, cst.Ellipsis)  # type: ignore[attr-defined]


def _same(one: cst.BaseExpression, other: cst.BaseExpression) -> bool:
    code = cst.Module([]).code_for_node
    plain, wanted = (cst.parse_expression(code(node.with_changes(lpar=(), rpar=()))) for node in (one, other))
    return plain.deep_equals(wanted)


def is_mask(node: cst.BaseExpression, editor: Editor) -> bool:
    """Whether ``node`` is a tensor of bools: one of numbers is a list of positions."""
    inner = node.expression if isinstance(node, cst.UnaryOperation) else node
    return all(isinstance(option, Tensor) and option.dtype == "bool" for option in options(editor.value(inner)))
