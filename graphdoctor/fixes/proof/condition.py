"""Whether a condition on tensor data is one bool, and may be computed where Python might not have evaluated it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import libcst as cst

from graphdoctor.fixes.analysis.types import is_annotated_number, is_number
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.scope import parameters
from graphdoctor.fixes.proof.domain import assigned_before, domain, is_bound_since
from graphdoctor.fixes.proof.operators import EQUALITY, KINDS, OPERATORS, ORDER
from graphdoctor.fixes.proof.terms import ARITHMETIC, ORDERED, SCALAR, Term, kind_of, number, term
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Const, External, PythonValue, Tensor
from graphdoctor.syntax.walk import walk

_MATH = frozenset({"math.isnan", "math.isinf", "math.isfinite"})


@dataclass(frozen=True)
class Evaluated:
    """A condition that is proved to be one bool: what is always computed, and the tensors it is made of."""

    first: tuple[Term, ...]
    bases: frozenset[str]


def evaluated(test: cst.BaseExpression, editor: Editor, always: bool) -> Evaluated | None:
    """The terms of ``test``; None where it is not proved that a tensor can take its place.

    Python stops at the first operand of ``and`` and ``or`` that decides, and reaches a later case of a chain only
    where those before it were false (``always`` is False). A tensor condition is computed as a whole, so what Python
    might leave out must be computable wherever the first operand was.
    """
    operands = [o for o in _operands(test) if not _is_python(o, editor)]
    if not all(_is_harmless(o, editor) for o in operands[1 if always else 0 :]):
        return None
    found = [_operand(o, test, editor) for o in operands]
    terms = [one for one in found if one is not None]
    if not terms or len(terms) < len(found):
        return None
    first = terms[:1] if always else []
    for one in terms[len(first) :]:
        where = domain(one.base, test, editor)
        for known in first:
            where = where.evaluated(known) if known.base == one.base else where
        if not all(one.supports(kind) for kind in where.kinds) or (one.raises_on_empty and not where.has_elements):
            return None
    bases = [_base(o, one, test, editor) for o, one in zip(operands, terms, strict=True)]
    return Evaluated(tuple(first), frozenset(bases)) if "" not in bases else None


def _is_harmless(operand: cst.BaseExpression, editor: Editor) -> bool:
    """Whether no number in a comparison can raise: one that the dtype of the tensor cannot hold may."""
    if not isinstance(operand, cst.Comparison):
        return True
    sides = (operand.left, operand.comparisons[0].comparator)
    numbers = [number(side) for side in sides if term(side, editor) is None]
    return all(n is not None and (isinstance(n, float) or 0 <= n <= 127) for n in numbers)


def _base(operand: cst.BaseExpression, known: Term, test: cst.BaseExpression, editor: Editor) -> str:
    """The tensor that ``operand`` is made of, which its name still stands for; empty where that is not clear."""
    if known.base:
        return known.base
    for name in walk(operand):
        value = assigned_before(name.value, name, editor) if isinstance(name, cst.Name) else None
        made = term(value, editor) if value is not None else None
        if made is not None and value is not None:
            return made.base if is_bound_since(made.base, value, test, editor) else ""
    return ""


def _definition(name: cst.Name, editor: Editor) -> Term | None:
    """The term that the plain name was assigned."""
    value = assigned_before(name.value, name, editor)
    return term(value, editor) if value is not None else None


def _operands(test: cst.BaseExpression) -> list[cst.BaseExpression]:
    if isinstance(test, cst.BooleanOperation):
        return [*_operands(test.left), *_operands(test.right)]
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return _operands(test.expression)
    if isinstance(test, cst.Comparison) and len(test.comparisons) > 1:
        lefts = [test.left, *(c.comparator for c in test.comparisons)]
        return [cst.Comparison(left, [c]) for left, c in zip(lefts, test.comparisons, strict=False)]
    return [test]


def _is_python(node: cst.BaseExpression, editor: Editor) -> bool:
    """Whether the interpreter knows that the operand is neither a tensor nor a number read from one."""
    return all(
        isinstance(o, Const) or (isinstance(o, PythonValue) and not o.data_dependent)
        for o in options(editor.value(node))
    )


def _operand(node: cst.BaseExpression, test: cst.BaseExpression, editor: Editor) -> Term | None:
    """The term of a condition without ``and``, ``or`` and ``not``, where it is one bool for all dtypes."""
    if isinstance(node, cst.Comparison):
        found = _compared(node, editor)
    else:
        found, _ = _unconverted(node, editor)
        value = editor.value(node)
        # The rewrite compares with zero what the interpreter does not know to be a bool.
        if found is not None and not (isinstance(value, Tensor) and value.dtype == "bool"):
            found = found.apply(EQUALITY)
    if found is None or found.shape != SCALAR:
        return None
    kinds = domain(found.base, test, editor).kinds
    is_bool = frozenset().union(*(kind_of(found, kind) for kind in kinds)) <= {"bool"}
    return found if is_bool else None


def _compared(node: cst.Comparison, editor: Editor) -> Term | None:
    (compared,) = node.comparisons
    if not isinstance(compared.operator, ARITHMETIC):
        return None
    operator = ORDER if isinstance(compared.operator, ORDERED) else EQUALITY
    for operand, other in ((node.left, compared.comparator), (compared.comparator, node.left)):
        if not _is_python_number(other, editor):
            continue
        inner, converted = _unconverted(operand, editor)
        if inner is None or (converted and not _is_exact(inner, other)):
            return None
        return inner.apply(operator)
    return None


def _unconverted(node: cst.BaseExpression, editor: Editor) -> tuple[Term | None, bool]:
    """The term of a tensor, also of one that Python reads a number from, and whether it does."""
    if isinstance(node, cst.Name):
        # It was computed before: it does not raise, and the name of its tensor may be rebound since.
        found = _definition(node, editor)
        if found is None:
            return None, False
        letters = tuple("b" if letter == "-" else letter for letter in found.dtypes)
        return replace(found, base="", dtypes=letters, raises_on_empty=False), False
    if isinstance(node, cst.Call):
        callee = editor.value(node.func)
        if isinstance(callee, External) and len(node.args) == 1 and not node.args[0].keyword and not node.args[0].star:
            name = callee.qualname
            inner, converted = _unconverted(node.args[0].value, editor)
            # Of a tensor with a gradient, `float` and the functions of `math` warn; `bool` and `item` do not.
            if name in ("builtins.bool", "builtins.float"):
                is_quiet = converted or name == "builtins.bool"
                return (inner if is_quiet and inner is not None and inner.shape == SCALAR else None), True
            if name in _MATH and converted and inner is not None:
                # Python's functions take no complex numbers.
                test = replace(OPERATORS[name.rpartition(".")[2]], dtypes="bbbb-")
                return inner.apply(test), False
        if isinstance(node.func, cst.Attribute) and node.func.attr.value == "item" and not node.args:
            inner, _ = _unconverted(node.func.value, editor)
            is_tensor = isinstance(editor.value(node.func.value), Tensor)
            return (inner if is_tensor and inner is not None and inner.shape == SCALAR else None), True
    return term(node, editor), False


def _is_python_number(node: cst.BaseExpression, editor: Editor) -> bool:
    """A Python number: literal, or by what the interpreter knows of it. For arguments, an annotation must say so."""
    if number(node) is not None:
        return True
    function = editor.function_of(node)
    if isinstance(node, cst.Name) and function is not None and node.value in parameters(function):
        return is_annotated_number(node.value, function)
    return is_number(node, editor) and not any(
        isinstance(o, PythonValue) and o.data_dependent for o in options(editor.value(node))
    )


def _is_exact(inner: Term, threshold: cst.BaseExpression) -> bool:
    """Whether all dtypes of ``inner`` hold the number, so that it compares with the tensor as with Python's number."""
    value = number(threshold)
    if value is None:
        return False
    if isinstance(value, int):
        small = [letter for letter, kind in zip(inner.dtypes, KINDS, strict=True) if kind in ("uint8", "int")]
        if "=" in small and not 0 <= value <= 127:
            return False
    mantissa, exponent = math.frexp(value)
    return value == 0 or ((mantissa * 256).is_integer() and -13 <= exponent <= 15)
