"""Whether a mask has the shape of the tensor that it indexes, as far as the source shows it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import libcst as cst

from graphdoctor.fixes.analysis.purity import POINTWISE, called, is_torch_function
from graphdoctor.fixes.analysis.types import assigned, is_number, latest
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.domain.events import Subscript
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import Hit

#: Functions whose result has the shape of their operand, beside those computed element by element.
_LIKE = frozenset({"zeros_like", "ones_like", "empty_like", "isnan", "isinf", "isfinite", "logical_not", "clone"})


def spread(mask: cst.BaseExpression, tensor: cst.BaseExpression, hit: Hit, editor: Editor) -> str:
    """The mask with as many dimensions as the tensor: a mask indexes the leading ones, ``where`` lines up the last.

    Raises Refuse where it does not fit.
    """
    text, other = editor.code(mask), editor.code(tensor)
    if _same_shape(mask, tensor, hit, editor):
        return text
    inside = text if isinstance(mask, (cst.Name, cst.Attribute, cst.Subscript)) else f"({text})"
    of_tensor, of_mask = _ranks(hit)
    if of_tensor is not None and of_mask is not None and of_tensor > of_mask:
        return f"{inside}[..., {', '.join(['None'] * (of_tensor - of_mask))}]"
    named = _named(mask, editor)
    if named is None or not (isinstance(tensor, (cst.Name, cst.Attribute)) or _is_row(tensor, editor)):
        raise Refuse(f"`{text}` is not shown to have the shape of `{other}`; give both a name")
    return f"{inside}[(...,) + (None,) * ({other}.ndim - {editor.code(named)}.ndim)]"


def _is_row(node: cst.BaseExpression, editor: Editor) -> bool:
    """``dist[i]`` of a name and numbers, which may be written twice."""
    if not isinstance(node, cst.Subscript) or not isinstance(node.value, (cst.Name, cst.Attribute)):
        return False
    indices = [e.slice.value if isinstance(e.slice, cst.Index) and e.slice.star is None else None for e in node.slice]
    return all(i is not None and (isinstance(i, cst.Integer) or is_number(i, editor)) for i in indices)


def _named(mask: cst.BaseExpression, editor: Editor) -> cst.BaseExpression | None:
    """What has a name, and as many dimensions as the mask: ``labels`` of ``labels == 1``, ``same[i]``."""
    if isinstance(mask, cst.UnaryOperation) and isinstance(mask.operator, cst.BitInvert):
        return _named(mask.expression, editor)
    if isinstance(mask, cst.Comparison) and len(mask.comparisons) == 1:
        right = mask.comparisons[0].comparator
        return _named(mask.left, editor) if isinstance(_literal(right), (cst.Integer, cst.Float)) else None
    return mask if isinstance(mask, (cst.Name, cst.Attribute)) or _is_row(mask, editor) else None


def _same_shape(mask: cst.BaseExpression, tensor: cst.BaseExpression, hit: Hit, editor: Editor) -> bool:
    ranks = _ranks(hit)
    if None not in ranks:
        return ranks[0] == ranks[1]
    if isinstance(hit.place, cst.Call) or _compares(mask, tensor, editor):
        return True
    shapes = _shapes(tensor, editor)
    # A mask that is as large as the tensor broadcast with others has as many dimensions at least: it may have no more.
    return bool(shapes) and "" not in shapes and shapes <= _shapes(mask, editor)


def _compares(mask: cst.BaseExpression, tensor: cst.BaseExpression, editor: Editor) -> bool:
    """Whether the mask is ``tensor == n`` with a number, written here or in the statement right before."""
    value = latest(mask, editor) if isinstance(mask, cst.Name) else mask
    if not isinstance(value, cst.Comparison) or len(value.comparisons) != 1 or not value.left.deep_equals(tensor):
        return False
    if value is not mask:
        here, before = (editor.parent(editor.statement_of(node)) for node in (mask, value))
        block = editor.parent(here) if here is not None else None
        lines = block.body if isinstance(block, (cst.IndentedBlock, cst.Module)) else ()
        if not any(first is before and second is here for first, second in pairwise(lines)):
            return False
    return is_number(value.comparisons[0].comparator, editor)


def _ranks(hit: Hit) -> tuple[int | None, int | None]:
    """The numbers of dimensions of the tensor and of the mask that a hit is about, where they are known."""
    event = hit.event
    if not isinstance(event, Subscript) or len(event.index) != 1:
        return None, None
    tensor, mask = tensor_of(event.receiver), tensor_of(event.index[0])
    return tensor.ndim if tensor is not None else None, mask.ndim if mask is not None else None


def _shapes(node: cst.BaseExpression, editor: Editor, depth: int = 0) -> frozenset[str]:
    """The names whose shapes broadcast to that of ``node``; an empty name for what the source does not show."""
    unknown = frozenset({""})
    if depth > 5:
        return unknown
    if isinstance(node, cst.Name):
        value = assigned(node, editor)
        inner = _shapes(value, editor, depth + 1) if value is not None else unknown
        return inner if inner and "" not in inner else inner - unknown | {_evaluated_once(node, editor)}
    if isinstance(node, cst.UnaryOperation):
        return _shapes(node.expression, editor, depth + 1)
    if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        return _joined([node.left, node.comparisons[0].comparator], editor, depth)
    if isinstance(node, cst.BinaryOperation) and not isinstance(node.operator, cst.MatrixMultiply):
        return _joined([node.left, node.right], editor, depth)
    if isinstance(node, cst.Call) and (called(node) in POINTWISE or called(node) in _LIKE):
        operands = [a.value for a in node.args[:1]] if is_torch_function(node, editor) else []
        if isinstance(node.func, cst.Attribute) and not operands:
            operands = [node.func.value]
        return _shapes(operands[0], editor, depth + 1) if operands else unknown
    return unknown


def _joined(sides: Sequence[cst.BaseExpression], editor: Editor, depth: int) -> frozenset[str]:
    """The shapes of two operands, of which one may be a number."""
    tensors = (s for s in sides if not isinstance(_literal(s), (cst.Integer, cst.Float)))
    return frozenset().union(*(_shapes(s, editor, depth + 1) for s in tensors))


def _literal(node: cst.BaseExpression) -> cst.BaseExpression:
    return node.expression if isinstance(node, cst.UnaryOperation) else node


def _evaluated_once(name: cst.Name, editor: Editor) -> str:
    """A name that its function binds at most once keeps its shape."""
    function = editor.function_of(name)
    bound = editor.assignments(function, name.value) if function is not None else []
    return name.value if len(bound) <= 1 else ""
