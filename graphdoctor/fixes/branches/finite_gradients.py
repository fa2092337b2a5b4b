"""Values that are computed although they may not be taken: their gradients are kept from becoming NaN.

``torch.where(t, x / s, x)`` gives ``s`` a gradient of NaN where it is zero, taken or not: the gradient of the side not
taken is zero times infinity. With ``x / torch.where(t, s, 1)`` it is finite on both sides.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import libcst as cst

from graphdoctor.fixes.analysis.purity import called, is_torch_function, words
from graphdoctor.fixes.analysis.types import is_tensor_like
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.syntax.walk import walk

#: Operators whose gradient is finite where what they are given is one, and those that divide by their second operand.
_FINITE_AT_ONE = words("""
    cosh exp exp2 expm1 float_power log log10 log1p log2 norm normalize pow reciprocal rsqrt sinh sqrt vector_norm
""")
_DIVIDE = words("div divide true_divide")
#: Below it, a number is added to keep what is divided by from zero.
_SMALL = 1e-2


def operands(
    value: cst.CSTNode, editor: Editor, read: Collection[str] = ()
) -> Mapping[cst.CSTNode, cst.BaseExpression]:
    """The operations in ``value`` that can make gradients NaN, each with the tensor that does it.

    ``read`` are names of numbers that become tensors.
    """
    found: dict[cst.CSTNode, cst.BaseExpression] = {}
    for node in walk(value):
        operand = _operand(node, editor)
        if operand is None or _is_kept_from_zero(operand):
            continue
        if is_tensor_like(operand, editor) or (isinstance(operand, cst.Name) and operand.value in read):
            found[node] = operand
    return found


def kept_finite(
    value: cst.BaseExpression, found: Mapping[cst.CSTNode, cst.BaseExpression], test: str, editor: Editor
) -> str:
    """The code of ``value``. Its ``operands``, those ``found``, are one where the bool tensor ``test`` is false."""
    if not found:
        return editor.module.code(value)
    return editor.module.tree.code_for_node(with_ones(value, found, test))


def with_ones(
    value: cst.BaseExpression, found: Mapping[cst.CSTNode, cst.BaseExpression], test: str
) -> cst.BaseExpression:
    """``value`` with its ``operands``, those ``found``, as ``torch.where(test, operand, 1)``."""
    written = value.visit(_Replace(set(found.values()), test))
    assert isinstance(written, cst.BaseExpression)
    return written


def finite_unless(test: str, value: cst.BaseExpression, editor: Editor) -> str:
    """The code of ``value``, whose ``operands`` are one where the bool tensor ``test`` is true."""
    code = kept_finite(value, operands(value, editor), f"~{test}", editor)
    if editor.newline not in code or code == editor.code(value):
        return code
    has_text = any(isinstance(node, (cst.BaseString, cst.Comment)) for node in walk(value))
    return editor.code(value) if has_text else " ".join(line.strip() for line in code.split(editor.newline))


def divisor_unless(test: str, value: cst.BaseExpression, editor: Editor) -> str:
    """The same for what ``x /= value`` divides by."""
    code = finite_unless(test, value, editor)
    is_kept = _is_kept_from_zero(value) or not is_tensor_like(value, editor)
    return code if is_kept else f"torch.where({test}, 1, {code})"


def divides(node: cst.BinaryOperation) -> bool:
    """A division by something that may be zero, or a power that is not a plain positive one."""
    if isinstance(node.operator, cst.Power):
        return is_root(node)
    is_division = isinstance(node.operator, (cst.Divide, cst.FloorDivide, cst.Modulo))
    return is_division and not isinstance(node.right, (cst.Integer, cst.Float))


def is_root(node: cst.BinaryOperation) -> bool:
    """A power that is no plain positive whole one: at zero or below its gradient may be infinite or NaN."""
    return isinstance(node.operator, cst.Power) and not isinstance(node.right, cst.Integer)


def _operand(node: cst.CSTNode, editor: Editor) -> cst.BaseExpression | None:
    if isinstance(node, cst.BinaryOperation) and divides(node):
        return node.left if isinstance(node.operator, cst.Power) else node.right
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    given = [a.value for a in node.args if a.keyword is None and not a.star]
    given = given if is_torch_function(node, editor) else [node.func.value, *given]
    if called(node) in _FINITE_AT_ONE:
        return given[0] if given else None
    return given[1] if called(node) in _DIVIDE and len(given) > 1 else None


def _is_kept_from_zero(operand: cst.BaseExpression) -> bool:
    """``x + 1e-6`` and ``x.clamp(min=1)``."""
    if isinstance(operand, cst.BinaryOperation):
        is_small = isinstance(operand.right, cst.Float) and float(operand.right.value) < _SMALL
        return is_small and isinstance(operand.operator, cst.Add)
    return isinstance(operand, cst.Call) and called(operand) in ("clamp", "clamp_min", "clip")


class _Replace(cst.CSTTransformer):
    """Puts ``torch.where(test, x, 1)`` in place of some expressions."""

    def __init__(self, found: set[cst.BaseExpression], test: str) -> None:
        self.found = found
        self.test = test

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        if original_node not in self.found or not isinstance(updated_node, cst.BaseExpression):
            return updated_node
        test, one = cst.parse_expression(self.test), cst.Integer("1")
        sides: tuple[cst.BaseExpression, ...] = (updated_node.with_changes(lpar=(), rpar=()), one)
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.BitInvert):
            test, sides = test.expression, sides[::-1]
        return cst.Call(cst.parse_expression("torch.where"), [cst.Arg(part) for part in (test, *sides)])
