"""Less work where a selection is empty, or where all is selected: the other code does the same there.

``if len(found) == 0: return x.new_zeros(0, 2)`` and, before ``x[mask]``, ``if mask.all(): return x`` save work, and ask
data. They are removed where the code after them works on what they tested. So is what drops a mask that masks nothing,
and ``if not m.any(): return`` before ``y[m] = v``.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.fixes.analysis.purity import called, calls, is_pure, words
from graphdoctor.fixes.branches import branch_arms
from graphdoctor.fixes.branches.masked_writes import is_by, is_mask, selected
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import names
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

#: Operations that need one element at least.
_REDUCTIONS = words("amax amin aminmax argmax argmin cross_entropy max mean median min nanmean std var")
_COUNTS = words("len numel size sum")
_KEPT = (
    "The mask is applied in each call. Where it is the same for all elements, the code without a mask ran: it may "
    "round otherwise, and a mask that means the opposite gives another result."
)
NO_MASK = Refusal("This does not drop a mask that masks nothing.")
NO_GUARD = Refusal("This is no return where a mask selects nothing.")
_ZERO = cst.Integer("0")
MORE_THAN_RETURN = Refusal("The branch does more than return a value.")
NO_SHORTCUT = Refusal("This is no early return for an empty selection.")


def drop_shortcut(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """The branch goes, where all that it does is to return. Raises Refuse where it does not fit."""
    branch = next((n for n in editor.ancestors(hit.place) if isinstance(n, cst.If)), None)
    if branch is None or hit.place not in set(walk(branch.test)):
        return Refusal("No branch tests how much is selected.")
    counted = _counted(branch.test)
    mask = counted or _mask(branch.test)
    if mask is None or branch.orelse is not None or editor.code(branch).startswith("elif"):
        return NO_SHORTCUT
    if not _only_returns(branch.body):
        return MORE_THAN_RETURN
    end, function = editor.location(branch).end_line, editor.function_of(branch)
    uses = editor.mentions(function, mask.value) if function is not None else ()
    later = [use for use in uses if editor.location(use).line > end]
    if editor.following(branch) is None or not later:
        raise Refuse(f"the code after the branch does not read `{mask.value}`")
    if counted is None and not any(_is_index(use, editor) for use in later):
        raise Refuse(f"the code after the branch does not select by `{mask.value}`")
    last = next((n for n in _operations_after(function, end, editor) if _needs_elements(n)), None)
    if last is not None:
        raise Refuse(f"`{editor.code(last)}` after the branch is NaN or an error for an empty selection")
    case = f"`{mask.value}` is empty" if counted is not None else f"all of `{mask.value}` is equal"
    reason = f"Where {case}, the result is that of the code after the early return, which may be another one."
    return FixPlan((editor.delete(branch),), "unsafe", reason, known=("zero_gradients",))


def drop_guard(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``if not m.any(): return`` goes, where the rest of the function only writes to what ``m`` selects.

    Raises Refuse where it does not fit.
    """
    branch = next((n for n in editor.ancestors(hit.place) if isinstance(n, cst.If)), None)
    function = editor.function_of(branch) if branch is not None else None
    if branch is None or function is None or editor.parent(branch) is not function.body or branch.orelse is not None:
        return NO_GUARD
    mask = _guarded(branch.test)
    if mask is None or not is_mask(mask, editor) or not _returns_nothing(branch.body):
        return NO_GUARD
    lines = list(function.body.body)
    if any(isinstance(node, (cst.Global, cst.Nonlocal)) for node in walk(function)):
        raise Refuse("the function writes names that other code reads")
    rest = [statement for line in lines[lines.index(branch) + 1 :] for statement in _small(line)]
    if rest and isinstance(rest[-1], cst.Return) and rest[-1].value is None:
        rest.pop()
    written: set[str] = set()
    for statement in rest:
        if not isinstance(statement, (cst.Assign, cst.AugAssign)):
            raise Refuse("the lines after the return do more than write where the mask is true")
        target = statement.targets[0].target if isinstance(statement, cst.Assign) else statement.target
        effect = next((call for call in calls(statement.value) if not is_pure(call, editor)), None)
        if effect is not None:
            raise Refuse(f"`{editor.code(effect)}` may have side effects, and would run in each call")
        if any(_needs_elements(n) for n in walk(statement.value) if isinstance(n, (cst.BinaryOperation, cst.Call))):
            raise Refuse(f"`{editor.code(statement.value)}` may raise for an empty selection")
        if isinstance(target, cst.Subscript) and is_by(target, mask):
            written.add(editor.code(target.value))
        elif not isinstance(target, cst.Name) or isinstance(statement, cst.AugAssign) or target.value in names(mask):
            raise Refuse("the lines after the return do more than write where the mask is true")
    if not written:
        return NO_GUARD
    reason = f"Where `{editor.code(mask)}` selects nothing, the lines after the return run too, and write nothing."
    return FixPlan((editor.delete(branch),), "unsafe", reason, known=("zero_gradients",))


def _guarded(test: cst.BaseExpression) -> cst.BaseExpression | None:
    """``m`` of ``not m.any()``, ``m.sum() == 0`` and ``m.sum() < 1``."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return selected(test.expression.with_changes(lpar=(), rpar=()))
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return None
    (part,) = test.comparisons
    bound = part.comparator.value if isinstance(part.comparator, cst.Integer) else ""
    if (type(part.operator), bound) not in ((cst.Equal, "0"), (cst.LessThan, "1")):
        return None
    return selected(test.with_changes(comparisons=[part.with_changes(operator=cst.GreaterThan(), comparator=_ZERO)]))


def _returns_nothing(block: cst.BaseSuite) -> bool:
    small = list(branch_arms.statements(block))
    return len(small) == 1 and isinstance(small[0], cst.Return) and small[0].value is None


def _small(line: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield from line.body if isinstance(line, cst.SimpleStatementLine) else (line,)


def keep_mask(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """A mask that is dropped where it masks nothing is kept. Raises Refuse where it does not fit.

    ``if not m.any(): m = None`` goes; ``if e.any(): m = e`` becomes ``m = e``, and ``m if m.any() else None`` ``m``.
    """
    choice = next((n for n in editor.ancestors(hit.place) if isinstance(n, (cst.If, cst.IfExp))), None)
    if choice is None or hit.place not in set(walk(choice.test)):
        return NO_MASK
    if isinstance(choice, cst.IfExp):
        sides = (choice.body, choice.orelse)
        mask = next((side for side in sides if not _is_none(side)), None)
        where = _mask(choice.test) if _is_none(choice.body) else selected(choice.test)
        if mask is None or where is None or not any(map(_is_none, sides)) or not where.deep_equals(mask):
            return NO_MASK
        edit = editor.replace(choice, editor.code(mask))
    else:
        (*others, assign) = branch_arms.statements(choice.body)
        if others or choice.orelse is not None or not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
            return NO_MASK
        dropped, mask = _mask(choice.test), assign.value
        if dropped is not None and _is_none(assign.value) and dropped.deep_equals(assign.targets[0].target):
            mask, edit = dropped, editor.delete(choice)
        elif (kept := selected(choice.test)) is not None and kept.deep_equals(mask):
            indent = editor.indent_of(choice)
            edit = editor.replace(choice, editor.lines(indent, editor.dedented(assign, indent)))
        else:
            return NO_MASK
    if not is_mask(mask, editor):
        raise Refuse(f"`{editor.code(mask)}` is not shown to be a mask")
    return FixPlan((edit,), "unsafe", _KEPT, known=("zero_gradients",))


def _is_none(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"


def _operations_after(
    function: cst.CSTNode | None, line: int, editor: Editor
) -> Iterator[cst.BinaryOperation | cst.Call]:
    """The operations and calls after ``line`` of ``function``."""
    for node in walk(function) if function is not None else ():
        if isinstance(node, (cst.BinaryOperation, cst.Call)) and editor.location(node).line > line:
            yield node


def _needs_elements(node: cst.BinaryOperation | cst.Call) -> bool:
    """A mean, an extreme, a loss that is a mean by default, or a division by a number of elements or a sum."""
    if isinstance(node, cst.Call):
        is_reduction = called(node) in _REDUCTIONS and isinstance(node.func, cst.Attribute)
        return is_reduction or called(node).endswith("_loss")
    divides = isinstance(node.operator, (cst.Divide, cst.FloorDivide))
    return divides and any(isinstance(n, cst.Call) and called(n) in _COUNTS for n in walk(node.right))


def _counted(test: cst.BaseExpression) -> cst.Name | None:
    """``x`` of ``len(x) == 0``, ``x.numel() == 0``, ``x.shape[0] == 0`` and ``not len(x)``."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        count = test.expression
    elif isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        (part,) = test.comparisons
        bound = part.comparator.value if isinstance(part.comparator, cst.Integer) else ""
        if (type(part.operator), bound) not in ((cst.Equal, "0"), (cst.LessThan, "1")):
            return None
        count = test.left
    else:
        return None
    if (
        isinstance(count, cst.Subscript)
        and isinstance(count.value, cst.Attribute)
        and count.value.attr.value == "shape"
    ):
        return _name(count.value.value)
    if not isinstance(count, cst.Call):
        return None
    if called(count) == "len" and len(count.args) == 1:
        return _name(count.args[0].value)
    if called(count) in ("numel", "size") and isinstance(count.func, cst.Attribute):
        return _name(count.func.value)
    return None


def _mask(test: cst.BaseExpression) -> cst.Name | None:
    """``m`` of ``m.all()`` and ``not m.any()``, also in ``bool``."""
    wanted = "all"
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        test, wanted = test.expression, "any"
    if isinstance(test, cst.Call) and called(test) == "bool" and len(test.args) == 1:
        test = test.args[0].value
    if not isinstance(test, cst.Call) or called(test) != wanted or not isinstance(test.func, cst.Attribute):
        return None
    owner = _name(test.func.value)
    if owner is not None and owner.value == "torch":
        return _name(test.args[0].value) if len(test.args) == 1 else None
    return owner if not test.args else None


def _name(node: cst.BaseExpression) -> cst.Name | None:
    return node if isinstance(node, cst.Name) else None


def _only_returns(block: cst.BaseSuite) -> bool:
    """Whether ``block`` returns on every path, and does nothing else."""
    *before, last = branch_arms.statements(block)
    if not isinstance(last, cst.Return) or last.value is None:
        return False
    return all(isinstance(s, cst.If) and all(_only_returns(b) for b in _blocks(s)) for s in before)


def _blocks(branch: cst.If) -> Iterator[cst.BaseSuite]:
    yield branch.body
    if isinstance(branch.orelse, cst.If):
        yield from _blocks(branch.orelse)
    elif branch.orelse is not None:
        yield branch.orelse.body


def _is_index(use: cst.Name, editor: Editor) -> bool:
    """Whether ``use`` is ``m`` in ``x[m]`` or ``x[:, ~m]``."""
    outer = editor.parent(use)
    while isinstance(outer, cst.UnaryOperation):
        outer = editor.parent(outer)
    return isinstance(outer, cst.Index)
