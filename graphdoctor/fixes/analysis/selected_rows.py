"""How code asks for the rows that a mask selects: as indices, by the mask itself, and whether there are any."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes.analysis.purity import called, calls, is_torch_function
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.syntax.walk import find, walk

#: Methods of a mask that give zero where it selects nothing; and methods and functions that give zero for an empty
#: selection.
_OF_MASK = frozenset({"any", "sum", "count_nonzero"})
_OF_ROWS = frozenset({"numel", "nelement", "size", "len", "shape"})
_SAME_ELEMENTS = frozenset({"view", "flatten", "reshape", "ravel", "squeeze", "unsqueeze", "bool", "contiguous"})
_COMPARES = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "isin", "logical_and", "logical_or", "logical_not"})
_TESTS: dict[tuple[type[cst.BaseCompOp], int], bool] = {
    (cst.Equal, 0): False, (cst.LessThan, 1): False, (cst.LessThanEqual, 0): False,
    (cst.NotEqual, 0): True, (cst.GreaterThan, 0): True, (cst.GreaterThanEqual, 1): True,
}  # fmt: skip


@dataclass(frozen=True)
class RowsTest:
    """A test of whether a mask selects rows: ``some`` says which answer it is true for."""

    some: bool
    #: The expression that is tested: the mask, the rows, or their number.
    of: cst.BaseExpression
    is_mask: bool


def rows_test(test: cst.BaseExpression) -> RowsTest | None:
    """``not m.any()``, ``rows.numel() == 0``, ``len(rows) > 0`` and the like."""
    some = True
    while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        test, some = test.expression, not some
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        (part,) = test.comparisons
        bound = part.comparator.evaluated_value if isinstance(part.comparator, cst.Integer) else -1
        asks = _TESTS.get((type(part.operator), bound))
        if asks is None:
            return None
        test, some = test.left, some == asks
    return _counted(_plain(test), some)


def _plain(node: cst.BaseExpression) -> cst.BaseExpression:
    """``node`` without ``bool()``, ``int()`` and ``.item()`` around it."""
    while isinstance(node, cst.Call):
        if isinstance(node.func, cst.Name) and node.func.value in ("bool", "int") and len(node.args) == 1:
            node = node.args[0].value
        elif isinstance(node.func, cst.Attribute) and called(node) == "item" and not node.args:
            node = node.func.value
        else:
            break
    return node


def _counted(node: cst.BaseExpression, some: bool) -> RowsTest | None:
    if isinstance(node, cst.Subscript):
        shape = node.value
        is_first = isinstance(node.slice[0].slice, cst.Index) and len(node.slice) == 1
        if isinstance(shape, cst.Attribute) and shape.attr.value == "shape" and is_first:
            return RowsTest(some, shape.value, False)
        return RowsTest(some, shape, False)  # An element of a list of counts.
    if not isinstance(node, cst.Call) or called(node) not in (*_OF_MASK, *_OF_ROWS):
        return None
    of = node.func.value if isinstance(node.func, cst.Attribute) else None
    if of is None or (isinstance(of, cst.Name) and of.value == "torch"):
        of = node.args[0].value if len(node.args) == 1 else None
    elif node.args and called(node) != "size":
        return None
    return RowsTest(some, of, called(node) in _OF_MASK) if of is not None else None


def searches(node: cst.CSTNode, editor: Editor) -> Iterator[tuple[cst.Call, cst.BaseExpression]]:
    """Calls that give the indices of what a mask selects, each with the mask."""
    for call in calls(node):
        name = called(call)
        is_function = is_torch_function(call, editor)
        if name == "where" and is_function and len(call.args) == 1:
            yield call, call.args[0].value
        elif name in ("nonzero", "argwhere"):
            values = [a.value for a in call.args if a.keyword is None]
            if is_function and values:
                yield call, values[0]
            elif isinstance(call.func, cst.Attribute) and not is_function:
                yield call, call.func.value


def gives_columns(search: cst.Call, editor: Editor) -> bool:
    """Whether ``search`` gives one tensor for each dimension of the mask, and no matrix."""
    options = {editor.code(a.value) for a in search.args if a.keyword is not None and a.keyword.value == "as_tuple"}
    return called(search) == "where" or options == {"True"}


def masks_in(node: cst.CSTNode, editor: Editor) -> Iterator[tuple[cst.Subscript, cst.BaseExpression]]:
    """Subscripts that select by a mask, each with the mask."""
    for subscript in find(node, cst.Subscript):
        for element in subscript.slice:
            if isinstance(element.slice, cst.Index) and is_mask(element.slice.value, editor):
                yield subscript, element.slice.value
                break


def is_mask(node: cst.BaseExpression, editor: Editor) -> bool:
    """Whether ``node`` is known to be a tensor of bools."""
    known = tensor_of(editor.value(node))
    if known is not None and known.dtype is not None:
        return known.dtype == "bool" and known.ndim != 0
    if isinstance(node, cst.UnaryOperation):
        return isinstance(node.operator, cst.BitInvert) and is_mask(node.expression, editor)
    if isinstance(node, cst.Comparison):
        return not isinstance(node.comparisons[0].operator, (cst.Is, cst.IsNot, cst.In, cst.NotIn))
    if isinstance(node, cst.Call) and called(node) in (*_COMPARES, "any"):
        return True
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and called(node) in _SAME_ELEMENTS:
        return is_mask(node.func.value, editor)
    if isinstance(node, cst.Name):
        value = bound_once(node, editor)
        return value is not None and is_mask(value, editor)
    return False


def bound_once(name: cst.Name, editor: Editor) -> cst.BaseExpression | None:
    """What the function assigns to ``name``, if it does so once."""
    function = editor.function_of(name)
    bound = editor.assignments(function, name.value) if function is not None else []
    if len(bound) != 1 or not isinstance(bound[0], cst.Assign) or len(bound[0].targets) != 1:
        return None
    return bound[0].value if isinstance(bound[0].targets[0].target, cst.Name) else None


def made_from(mask: cst.BaseExpression, editor: Editor) -> Iterator[tuple[cst.BaseExpression, bool]]:
    """The masks that ``mask`` was made from, and whether it has fewer elements: ``m.any(-1)``, ``m.view(-1)``."""
    fewer = False
    yield mask, fewer
    while True:
        if isinstance(mask, cst.Name):
            value = bound_once(mask, editor)
            if value is None:
                return
            mask = value
        elif isinstance(mask, cst.Call) and isinstance(mask.func, cst.Attribute):
            if called(mask) != "any" and called(mask) not in _SAME_ELEMENTS:
                return
            fewer = fewer or called(mask) == "any"
            mask = mask.func.value
        else:
            return
        yield mask, fewer


def one_in_each_row(mask: cst.BaseExpression, editor: Editor) -> bool:
    """Whether ``mask`` is ``chosen == e`` for the indices of ``topk``, which are different in each row."""
    if isinstance(mask, cst.Name):
        value = bound_once(mask, editor)
        return value is not None and one_in_each_row(value, editor)
    if not isinstance(mask, cst.Comparison) or not isinstance(mask.left, cst.Name) or len(mask.comparisons) != 1:
        return False
    compared = mask.comparisons[0]
    function = editor.function_of(mask)
    bound = editor.assignments(function, mask.left.value) if function is not None else []
    if len(bound) != 1 or not isinstance(bound[0], cst.Assign) or not isinstance(compared.operator, cst.Equal):
        return False
    if not isinstance(compared.comparator, (cst.Name, cst.Integer)):
        return False
    target, value = bound[0].targets[0].target, bound[0].value
    is_second = isinstance(target, cst.Tuple) and [e.value.deep_equals(mask.left) for e in target.elements] == [
        False,
        True,
    ]
    if isinstance(target, cst.Name) and isinstance(value, (cst.Subscript, cst.Attribute)):
        is_second, value = editor.code(value).endswith((")[1]", ").indices")), value.value
    if not is_second or not isinstance(value, cst.Call) or called(value) != "topk":
        return False
    given = {a.keyword.value: editor.code(a.value) for a in value.args if a.keyword is not None}
    is_plain = isinstance(compared.comparator, cst.Integer) or _is_number(compared.comparator, editor)
    extra = len([a for a in value.args if a.keyword is None]) - is_torch_function(value, editor)
    return is_plain and extra <= 1 and given.get("dim", "-1") == "-1"


def _is_number(name: cst.BaseExpression, editor: Editor) -> bool:
    """Whether a loop counts ``name``, which is then one number in each round."""
    loops = (o for o in editor.ancestors(name) if isinstance(o, cst.For))
    return any(isinstance(n, cst.Name) and n.deep_equals(name) for loop in loops for n in walk(loop.target))
