"""What is proved of one expression: its dtype, shape and gradient, in terms of the one tensor that it is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.proof.operators import (
    ALSO_FUNCTIONAL,
    CLAMP,
    EQUALITY,
    KINDS,
    NUMBER_FIRST,
    ONLY_FUNCTIONAL,
    OPERATORS,
    ORDER,
    WITH_FLOAT,
    WITH_INT,
    Gradient,
    Operator,
)
from graphdoctor.static.domain.values import External, Method, Tensor

#: The shape of a tensor without dimensions.
SCALAR = "()"
#: Dtypes that no proof compares.
_UNDESCRIBED = "?"

_SYMBOLS: dict[type[cst.CSTNode], str] = {
    cst.Add: "+", cst.Subtract: "-", cst.Multiply: "*", cst.Divide: "/", cst.FloorDivide: "//", cst.Modulo: "%",
    cst.Power: "**",
}  # fmt: skip
ORDERED = (cst.LessThan, cst.GreaterThan, cst.LessThanEqual, cst.GreaterThanEqual)
#: Comparisons of tensors element by element, which ``is`` and ``in`` are not.
ARITHMETIC = (*ORDERED, cst.Equal, cst.NotEqual)
#: The kind of dtype that a letter of ``Operator.dtypes`` stands for.
_LETTER_KIND = dict.fromkeys("fsdhr", "float") | dict.fromkeys("li", "int") | {"b": "bool"}


@dataclass(frozen=True)
class Term:
    """An expression of one tensor ``base`` and numbers, without side effects.

    ``dtypes`` has, for each of ``KINDS`` that the base may be, the dtype in the letters of ``Operator.dtypes``,
    relative to the base's. ``shape`` is empty where it is the base's, else ``SCALAR`` or the arguments of a reduction.
    """

    base: str
    dtypes: tuple[str, ...] = ("=",) * len(KINDS)
    shape: str = ""
    fresh: bool = False
    gradient: Gradient = "zero"
    keeps_history: bool = True
    #: Raises where the base has no elements.
    raises_on_empty: bool = False
    #: Autocast computes it in float32, so that half precision does not stay half precision.
    float32_in_autocast: bool = False

    def supports(self, kind: str) -> bool:
        """Whether it can be computed where the base has this kind of dtype; True where that is not known."""
        return self.dtypes[KINDS.index(kind)] != "-"

    def apply(self, operator: Operator, shape: str | None = None) -> Term:
        """``operator`` of it, with another shape where one is given."""
        return replace(
            self,
            dtypes=tuple(_result(operator, letter, kind) for letter, kind in zip(self.dtypes, KINDS, strict=True)),
            shape=self.shape if shape is None else shape,
            fresh=self.fresh or operator.fresh,
            gradient=_worse(self.gradient, operator.gradient),
            keeps_history=self.keeps_history and operator.keeps_history,
            raises_on_empty=self.raises_on_empty or (operator.raises_on_empty and self.shape == ""),
            float32_in_autocast=self.float32_in_autocast or operator.float32_in_autocast,
        )


def layers(names: str) -> frozenset[str]:
    """The dotted names of classes of ``torch.nn``, by their own names."""
    return frozenset(f"torch.nn.{name}" for name in names.split())


def term(node: cst.BaseExpression, editor: Editor) -> Term | None:
    """The term of ``node``; None where it is more than operators that are described, on one tensor and numbers."""
    if isinstance(node, (cst.Name, cst.Attribute)):
        return Term(editor.code(node)) if is_plain_tensor(node, editor) else None
    if isinstance(node, cst.BinaryOperation):
        return _binary(node, editor)
    if isinstance(node, cst.UnaryOperation):
        return _unary(node, editor)
    if isinstance(node, cst.Comparison):
        return _comparison(node, editor)
    return _call(node, editor) if isinstance(node, cst.Call) else None


def kind_of(known: Term, kind: str) -> frozenset[str]:
    """The kind of dtype that ``known`` has where its base is of ``kind``: none where it raises, any where unknown."""
    letter = known.dtypes[KINDS.index(kind)]
    if letter == "-":
        return frozenset()
    return frozenset(KINDS) if letter == _UNDESCRIBED else frozenset({kind if letter == "=" else _LETTER_KIND[letter]})


def is_plain_tensor(node: cst.BaseExpression, editor: Editor) -> bool:
    """True for what the interpreter knows to be a dense tensor of torch on every path."""
    value = editor.value(node)
    return isinstance(value, Tensor) and value.is_known and not value.numpy and not value.sparse


def number(node: cst.BaseExpression) -> int | float | None:
    """The number that ``node`` is literally; None where not all floating dtypes can represent it."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        inner = number(node.expression)
        return None if inner is None else -inner
    if not isinstance(node, (cst.Integer, cst.Float)):
        return None
    value = node.evaluated_value
    # Beyond these, single precision has infinity or zero for a float, and whole numbers raise.
    if isinstance(value, int):
        return value if value < 1 << 31 else None
    return value if value == 0 or 1e-30 <= value <= 1e30 else None


def _result(operator: Operator, letter: str, kind: str) -> str:
    """The dtype of ``operator`` where its operand has the dtype ``letter`` and the base is of ``kind``."""
    if letter in ("-", _UNDESCRIBED):
        return letter
    operand = kind if letter == "=" else _LETTER_KIND[letter]
    made = operator.dtypes[KINDS.index(operand)]
    if made == "=" or (made == "r" and operand == "float"):
        return letter
    return made


def _worse(one: Gradient, other: Gradient) -> Gradient:
    order: Sequence[Gradient] = ("zero", "nan", "any")
    return max(one, other, key=order.index)


def _arithmetic(symbol: str, value: int | float, number_first: bool) -> Operator | None:
    """The operator ``tensor <symbol> value``; None where it is not described."""
    if number_first and symbol not in "+-*":
        return NUMBER_FIRST.get(symbol)
    if symbol in ("//", "%", "/") and value == 0:
        return None
    if symbol == "**":
        return WITH_INT["**"] if value in (2, 3) and isinstance(value, int) else None
    return _bounded(WITH_INT[symbol], value) if isinstance(value, int) else WITH_FLOAT[symbol]


def _bounded(operator: Operator, value: int) -> Operator:
    """``operator`` with a whole number: what dtypes do with one that they cannot hold is not described."""
    letters = list(operator.dtypes)
    letters[1] = letters[1] if 0 <= value <= 127 else _UNDESCRIBED
    letters[2] = letters[2] if -128 <= value <= 127 else _UNDESCRIBED
    return replace(operator, dtypes="".join(letters))


def _binary(node: cst.BinaryOperation, editor: Editor) -> Term | None:
    symbol = _SYMBOLS.get(type(node.operator))
    if symbol is None:
        return None
    for operand, other, first in ((node.left, node.right, False), (node.right, node.left, True)):
        value = number(other)
        if value is not None:
            inner, operator = term(operand, editor), _arithmetic(symbol, value, first)
            return inner.apply(operator) if inner is not None and operator is not None else None
    left, right = term(node.left, editor), term(node.right, editor)
    if left is None or right is None or left.base != right.base or symbol not in ("+", "-", "*"):
        return None
    return _joined(symbol, left, right)


def _joined(symbol: str, left: Term, right: Term) -> Term | None:
    """Two terms of the same tensor, added or multiplied."""
    if left.shape != right.shape and SCALAR not in (left.shape, right.shape):
        return None
    bool_raises = symbol == "-"
    dtypes = tuple(
        _promoted(a, b, kind, bool_raises) for a, b, kind in zip(left.dtypes, right.dtypes, KINDS, strict=True)
    )
    return Term(
        left.base,
        dtypes,
        right.shape if left.shape == SCALAR else left.shape,
        fresh=True,
        # The gradient of a factor is the other one, which may be infinite.
        gradient="any" if symbol == "*" else _worse(left.gradient, right.gradient),
        keeps_history=left.keeps_history or right.keeps_history,
        raises_on_empty=left.raises_on_empty or right.raises_on_empty,
        float32_in_autocast=left.float32_in_autocast or right.float32_in_autocast,
    )


def _promoted(one: str, other: str, kind: str, bool_raises: bool) -> str:
    if "-" in (one, other):
        return "-"
    is_bool = one == "b" or (one == "=" and kind == "bool")
    if one == other and one != _UNDESCRIBED:
        return "-" if bool_raises and is_bool else one
    return _UNDESCRIBED


def _unary(node: cst.UnaryOperation, editor: Editor) -> Term | None:
    inner = term(node.expression, editor)
    if inner is None:
        return None
    if isinstance(node.operator, cst.Minus):
        return inner.apply(OPERATORS["neg"])
    if isinstance(node.operator, cst.BitInvert) and set(inner.dtypes) <= {"b", "-"}:
        return inner.apply(EQUALITY)
    return None


def _comparison(node: cst.Comparison, editor: Editor) -> Term | None:
    """A comparison of a tensor with one number."""
    if len(node.comparisons) != 1:
        return None
    (compared,) = node.comparisons
    operator = ORDER if isinstance(compared.operator, ORDERED) else EQUALITY
    if not isinstance(compared.operator, ARITHMETIC):
        return None
    for operand, other in ((node.left, compared.comparator), (compared.comparator, node.left)):
        if number(other) is not None:
            inner = term(operand, editor)
            return inner.apply(operator) if inner is not None else None
    return None


def _call(node: cst.Call, editor: Editor) -> Term | None:
    name, operand, arguments = operation(node, editor)
    inner = term(operand, editor) if operand is not None else None
    if inner is None:
        return None
    if name in ("clamp", "clip", "clamp_min", "clamp_max"):
        return _clamped(inner, arguments)
    operator = OPERATORS.get(name)
    if operator is None:
        return None
    if not operator.reduces:
        return inner.apply(operator) if not arguments else None
    if not arguments:
        return inner.apply(operator, SCALAR)
    reduced = _reduced_shape(arguments)
    return inner.apply(operator, reduced) if operator.takes_dim and reduced and not inner.shape else None


def operation(node: cst.Call, editor: Editor) -> tuple[str, cst.BaseExpression | None, Sequence[cst.Arg]]:
    """The name of an operator of torch, the tensor that it is called on or for, and the other arguments."""
    callee = editor.value(node.func)
    if isinstance(callee, Method) and isinstance(callee.receiver, Tensor) and isinstance(node.func, cst.Attribute):
        return ("" if callee.name in ONLY_FUNCTIONAL else callee.name), node.func.value, node.args
    if isinstance(callee, External) and node.args and not node.args[0].keyword and not node.args[0].star:
        module, _, name = callee.qualname.rpartition(".")
        if module == "torch.nn.functional":
            exists = name in ONLY_FUNCTIONAL | ALSO_FUNCTIONAL
        else:
            exists = module in ("torch", "torch.Tensor") and name not in ONLY_FUNCTIONAL
        if exists:
            return name, node.args[0].value, node.args[1:]
    return "", None, ()


def operator_of(node: cst.Call, editor: Editor) -> Operator | None:
    """The operator that ``node`` calls, whatever its arguments; None where it is not one that is described."""
    return OPERATORS.get(operation(node, editor)[0])


def _clamped(inner: Term, arguments: Sequence[cst.Arg]) -> Term | None:
    bounds = [number(a.value) for a in arguments if not a.star]
    if not bounds or len(bounds) != len(arguments) or None in bounds:
        return None
    whole, real = CLAMP
    if any(isinstance(b, float) for b in bounds):
        return inner.apply(real)
    for bound in bounds:
        assert isinstance(bound, int)
        whole = _bounded(whole, bound)
    return inner.apply(whole)


def _reduced_shape(arguments: Sequence[cst.Arg]) -> str:
    """The literal dimensions of a reduction in one spelling; empty where they are not literal."""
    keywords: dict[str, str] = {}
    names: Callable[[int], str] = ("dim", "keepdim").__getitem__
    for position, argument in enumerate(arguments):
        if argument.star or position > 1:
            return ""
        name = argument.keyword.value if argument.keyword is not None else names(position)
        keywords[{"axis": "dim", "keepdims": "keepdim"}.get(name, name)] = _literal(argument.value)
    return (
        str(sorted(keywords.items()))
        if "dim" in keywords and set(keywords) <= {"dim", "keepdim"} and all(keywords.values())
        else ""
    )


def _literal(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.Name):
        return node.value if node.value in ("True", "False") else ""
    if isinstance(node, cst.Tuple):
        parts = [_literal(e.value) for e in node.elements]
        return f"({', '.join(parts)})" if all(parts) else ""
    value = number(node)
    return str(value) if isinstance(value, int) else ""
