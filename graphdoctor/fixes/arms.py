"""The two sides of a branch as values: what they assign or return, and whether computing both is the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes.editor import Editor
from graphdoctor.fixes.errors import Refuse
from graphdoctor.fixes.purity import (
    ELEMENTWISE,
    HAZARDS,
    KEEPS_DTYPE,
    RANDOM,
    REDUCTIONS,
    called,
    calls,
    is_pure,
    is_torch_function,
    root,
)
from graphdoctor.fixes.scope import names
from graphdoctor.source.walk import walk

_PYTHON_ONLY = (cst.List, cst.Tuple, cst.Dict, cst.Set, cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)


@dataclass(frozen=True)
class Shape:
    """Two values with equal ``Shape`` have the same shape and dtype, as far as the source shows."""

    base: str
    reduction: str = ""
    has_float: bool = False


@dataclass(frozen=True)
class Assigned:
    """What a block assigns, by the code of the target; ``helpers`` are names that only help to compute the others."""

    values: dict[str, cst.BaseExpression]
    helpers: dict[str, cst.BaseExpression]

    @property
    def in_place(self) -> dict[str, cst.BaseExpression]:
        """``values`` with the helpers put in place where they are read."""
        put = _PutInPlace(self.helpers)
        changed = {name: value.visit(put) for name, value in self.values.items()}
        return {name: value for name, value in changed.items() if isinstance(value, cst.BaseExpression)}


def assigned(block: cst.BaseSuite, editor: Editor) -> Assigned:
    """The plain names and attributes of ``self`` that a block assigns. Refuses any other statement.

    ``limit = finfo(x.dtype).max`` is a helper when nothing outside the block reads ``limit``.
    """
    values: dict[str, cst.BaseExpression] = {}
    helpers: set[str] = set()
    for statement in _small_statements(block):
        if not isinstance(statement, cst.Assign):
            raise Refuse(f"a side {_does(statement)} instead of assigning a name")
        target = statement.targets[0].target
        is_own = isinstance(target, cst.Attribute) and isinstance(target.value, cst.Name) and root(target) == "self"
        if len(statement.targets) != 1 or not (is_own or isinstance(target, cst.Name)):
            raise Refuse("a side assigns to something other than one plain name")
        read = {name for name in values if reads(statement.value, name)}
        if any(not _is_helper(name, block, editor) for name in read) or editor.code(target) in values:
            raise Refuse("a side uses a name that it has just assigned")
        helpers |= read
        values[editor.code(target)] = statement.value
    return Assigned(
        {name: value for name, value in values.items() if name not in helpers},
        {name: value for name, value in values.items() if name in helpers},
    )


def reads(node: cst.CSTNode, target: str) -> bool:
    """True when ``node`` reads the name or the attribute ``target``."""
    name, _, attribute = target.partition(".")
    if not attribute:
        return name in names(node)
    return any(isinstance(n, cst.Attribute) and n.attr.value == attribute and root(n) == name for n in walk(node))


def _is_helper(name: str, block: cst.BaseSuite, editor: Editor) -> bool:
    """A plain name that nothing outside ``block`` reads."""
    function = editor.function_of(block)
    inside = set(walk(block))
    return function is not None and all(n in inside for n in editor.mentions(function, name))


class _PutInPlace(cst.CSTTransformer):
    """Replaces names by their values."""

    def __init__(self, values: dict[str, cst.BaseExpression]) -> None:
        self.values = values

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        value = self.values.get(original_node.value)
        if value is None:
            return updated_node
        nested = value.visit(self)
        assert isinstance(nested, cst.BaseExpression)
        value = nested
        is_tight = isinstance(value, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) or bool(value.lpar)
        return value if is_tight else value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def returned_value(block: cst.BaseSuite) -> cst.BaseExpression:
    """What a block returns, when that is all it does."""
    statements = list(_small_statements(block))
    if len(statements) != 1 or not isinstance(statements[0], cst.Return):
        raise Refuse("a side does more than return a value")
    if statements[0].value is None:
        raise Refuse("a side returns nothing")
    return statements[0].value


def is_return(block: cst.BaseSuite) -> bool:
    """True when the last statement of ``block`` is a return."""
    return isinstance(list(_small_statements(block))[-1], cst.Return)


def check_tensor(value: cst.BaseExpression, editor: Editor) -> None:
    """Refuse what is plainly no tensor."""
    if isinstance(value, _PYTHON_ONLY) or (isinstance(value, cst.Name) and value.value in ("None", "True", "False")):
        raise Refuse(f"`{editor.code(value)}` is not a tensor")


def check(value: cst.BaseExpression, editor: Editor) -> None:
    """Refuse a side that cannot be computed when it is not taken, or that ``torch.where`` cannot take."""
    check_tensor(value, editor)
    code = editor.code(value)
    for node in walk(value):
        if isinstance(node, (cst.Await, cst.Yield, cst.NamedExpr)):
            raise Refuse(f"`{code}` awaits, yields or assigns")
        if (
            isinstance(node, cst.Call)
            and not is_pure(node, editor)
            and not _is_random(node)
            and root(node.func) != "self"
        ):
            raise Refuse(f"`{editor.code(node)}` may have side effects, and both sides would run")


def risks(value: cst.BaseExpression, editor: Editor) -> Iterator[str]:
    """What may change when ``value`` is computed although it is not taken: one clause each."""
    for call in calls(value):
        name = called(call)
        if name in HAZARDS:
            yield f"`{name}` of the side not taken can make gradients NaN"
        elif _is_random(call):
            yield f"`{name}` draws random numbers on both sides"
        elif not is_pure(call, editor):
            yield f"`{editor.code(call.func)}` now always runs"
    for node in walk(value):
        if isinstance(node, cst.BinaryOperation) and _divides(node):
            yield "the division on the side not taken can make gradients NaN"
        elif isinstance(node, cst.Subscript) and not _is_plain_index(node):
            yield f"`{editor.code(node)}` is read even when it is not taken"


def shape_of(value: cst.BaseExpression, editor: Editor) -> Shape | None:
    """The ``Shape`` of an elementwise expression of one name and numbers; None when the source does not show it."""
    if isinstance(value, (cst.Integer, cst.Float)):
        return Shape("", has_float=isinstance(value, cst.Float))
    if isinstance(value, cst.Name) or (isinstance(value, cst.Attribute) and root(value) == "self"):
        return Shape(editor.code(value))
    if isinstance(value, cst.UnaryOperation) and isinstance(value.operator, (cst.Minus, cst.Plus, cst.BitInvert)):
        return shape_of(value.expression, editor)
    if isinstance(value, cst.BinaryOperation) and not isinstance(value.operator, cst.MatrixMultiply):
        return _merge(shape_of(value.left, editor), shape_of(value.right, editor), _divides(value, any_divisor=True))
    if isinstance(value, cst.Call):
        return _call_shape(value, editor)
    return None


def _call_shape(call: cst.Call, editor: Editor) -> Shape | None:
    name, arguments = called(call), list(call.args)
    if not isinstance(call.func, cst.Attribute):
        return None
    operand: cst.BaseExpression = call.func.value
    if is_torch_function(call, editor):
        if not arguments or arguments[0].keyword is not None:
            return None
        operand, arguments = arguments[0].value, arguments[1:]
    inner = shape_of(operand, editor)
    if inner is None or not inner.base or inner.reduction:
        return None
    given = ", ".join(" ".join(editor.module.tree.code_for_node(a).split()) for a in arguments)
    if name in REDUCTIONS:
        return Shape(inner.base, f"({given.replace('axis=', 'dim=')})", inner.has_float)
    plain = all(_is_number(a.value) for a in arguments)
    makes_float = name not in KEEPS_DTYPE or any(isinstance(n, cst.Float) for a in arguments for n in walk(a.value))
    return Shape(inner.base, "", inner.has_float or makes_float) if name in ELEMENTWISE and plain else None


def _is_number(node: cst.BaseExpression) -> bool:
    """Literals, limits of a dtype, and arithmetic on these."""
    if isinstance(node, cst.UnaryOperation):
        return _is_number(node.expression)
    if isinstance(node, cst.BinaryOperation):
        return _is_number(node.left) and _is_number(node.right)
    is_limit = isinstance(node, cst.Attribute) and isinstance(node.value, cst.Call)
    return isinstance(node, (cst.Integer, cst.Float)) or (is_limit and called(node.value) in ("finfo", "iinfo"))  # type: ignore[attr-defined]


def _merge(left: Shape | None, right: Shape | None, is_division: bool) -> Shape | None:
    if (
        left is None
        or right is None
        or (left.base and right.base and (left.base, left.reduction) != (right.base, right.reduction))
    ):
        return None
    with_base = left if left.base else right
    return Shape(with_base.base, with_base.reduction, left.has_float or right.has_float or is_division)


def _small_statements(block: cst.BaseSuite) -> Iterator[cst.CSTNode]:
    for line in block.body:
        if isinstance(line, cst.SimpleStatementLine):
            yield from line.body
        else:
            yield line


def _does(statement: cst.CSTNode) -> str:
    """What a statement does, as a verb phrase."""
    verbs: dict[type[cst.CSTNode], str] = {
        cst.Raise: "raises",
        cst.Return: "returns",
        cst.Pass: "does nothing",
        cst.AugAssign: "changes a value in place",
        cst.Expr: "runs a call",
        cst.If: "branches again",
    }
    return verbs.get(type(statement), "does something")


def _is_random(call: cst.Call) -> bool:
    return called(call) in RANDOM and isinstance(call.func, cst.Attribute)


def _divides(node: cst.BinaryOperation, any_divisor: bool = False) -> bool:
    """A division by something that may be zero, or a power that is not a plain positive one."""
    if isinstance(node.operator, cst.Power):
        return any_divisor is False and not isinstance(node.right, cst.Integer)
    if not isinstance(node.operator, (cst.Divide, cst.FloorDivide, cst.Modulo)):
        return False
    return any_divisor or not isinstance(node.right, (cst.Integer, cst.Float))


def _is_plain_index(node: cst.Subscript) -> bool:
    """Slices and whole-number literals: shapes decide whether they are in range, not data."""
    for element in node.slice:
        index = element.slice
        if isinstance(index, cst.Index):
            value = index.value.expression if isinstance(index.value, cst.UnaryOperation) else index.value
            if not isinstance(value, (cst.Integer, cst.Ellipsis)):
                return False
    return True
