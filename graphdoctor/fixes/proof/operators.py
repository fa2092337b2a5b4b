"""What torch's operators do with each kind of dtype, and with gradients: the facts that proofs rest on.

Measured on torch 2.13 (CPU). ``tests/fixes/proof/test_operators.py`` runs each operator on each dtype and compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from graphdoctor.fixes.analysis.purity import words

#: The kinds of dtypes that operators treat alike, in the order of ``Operator.dtypes``.
KINDS = ("bool", "uint8", "int", "float", "complex")

#: The gradient that an operand gets when that of the result is zero, as for the arm that ``torch.where`` does not take:
#: zero for all values; NaN where the operand is NaN, and zero elsewhere; NaN for other values too.
Gradient = Literal["zero", "nan", "any"]


@dataclass(frozen=True)
class Operator:
    """An operator of one tensor, called as a method or as a function of torch.

    ``dtypes`` has one letter for each of ``KINDS``, the dtype of the result: ``=`` as the operand, ``f`` torch's
    default dtype, ``l`` int64, ``b`` bool, ``r`` the real part's, ``s`` float32, ``d`` float64, ``h`` float16,
    ``i`` int32, ``-`` where the operator raises, ``?`` where the result is not described.
    """

    dtypes: str
    gradient: Gradient = "zero"
    #: Gives one number when no dimension is named.
    reduces: bool = False
    #: Takes ``dim`` and ``keepdim``.
    takes_dim: bool = False
    #: The result never shares memory with the operand.
    fresh: bool = True
    raises_on_empty: bool = False
    #: The result belongs to the operand's graph of gradients.
    keeps_history: bool = True
    #: On CUDA, autocast computes it in float32 (torch's documentation of autocast lists these operators).
    float32_in_autocast: bool = False


def _operators() -> Iterator[tuple[str, Operator]]:
    elementwise: tuple[tuple[str, Gradient, str], ...] = (
        ("-===r", "zero", "abs"),
        ("-====", "zero", "neg negative"),
        ("-===-", "zero", "ceil fix floor relu relu6 round trunc"),
        ("---=-", "zero", "celu elu frac hardsigmoid hardswish leaky_relu selu"),
        ("---=-", "nan", "logsigmoid softplus"),
        ("---=-", "any", "gelu mish"),
        ("---==", "any", "silu"),
        ("====-", "zero", "sign"),
        ("=====", "zero", "clone sgn"),
        # Of complex numbers it has no gradient.
        ("====?", "zero", "nan_to_num"),
        ("fff=-", "zero", "deg2rad rad2deg"),
        ("fff=-", "nan", "erf erfc"),
        ("fff=-", "any", "lgamma logit"),
        ("fff==", "nan", "atan sigmoid tanh"),
        ("fff==", "any", "acos asin cos cosh exp exp2 expm1 log log10 log1p log2 reciprocal rsqrt sin sinh sqrt tan"),
        ("-ff==", "nan", "tanhshrink"),
        ("-ff==", "any", "softsign"),
        ("l====", "any", "square"),
        ("bbbbb", "zero", "isfinite isinf isnan logical_not"),
    )
    for dtypes, gradient, names in elementwise:
        for name in names.split():
            yield name, Operator(dtypes, gradient)
    for name, dtypes in {"double": "dddd?", "float": "ssss?", "half": "hhhh?", "int": "iiii?", "long": "llll?"}.items():
        yield name, Operator(dtypes, fresh=False)
    yield "positive", Operator("-====", fresh=False)
    yield "detach", Operator("=====", fresh=False, keeps_history=False)
    for name in ("zeros_like", "ones_like"):
        yield name, Operator("=====", keeps_history=False)
    yield "sum", Operator("lll==", reduces=True, takes_dim=True)
    yield "mean", Operator("---==", reduces=True, takes_dim=True)
    yield "nansum", Operator("lll=-", reduces=True, takes_dim=True)
    for name in ("amax", "amin"):
        yield name, Operator("====-", "any", reduces=True, takes_dim=True, raises_on_empty=True)
    for name in ("max", "min"):
        yield name, Operator("====-", reduces=True, raises_on_empty=True)
    for name in ("argmax", "argmin"):
        yield name, Operator("-lll-", reduces=True, raises_on_empty=True, keeps_history=False)
    for name in ("any", "all"):
        yield name, Operator("b=bbb", reduces=True, takes_dim=True, keeps_history=False)
    yield "count_nonzero", Operator("lllll", reduces=True, keeps_history=False)
    yield "prod", Operator("lll==", "any", reduces=True)
    for name in ("std", "var", "norm"):
        yield name, Operator("---=r", "any", reduces=True)


_FLOAT32_IN_AUTOCAST = words("""
    acos asin cosh cumsum exp expm1 log log10 log1p log2 norm prod reciprocal rsqrt sinh softplus square sum tan
""")
OPERATORS = {name: replace(op, float32_in_autocast=name in _FLOAT32_IN_AUTOCAST) for name, op in _operators()}

#: Those that only ``torch.nn.functional`` has, and those that it has beside ``torch`` and the methods of tensors.
ONLY_FUNCTIONAL = words("""
    celu elu gelu hardsigmoid hardswish leaky_relu logsigmoid mish relu6 selu silu softplus softsign tanhshrink
""")
ALSO_FUNCTIONAL = words("relu sigmoid tanh")

#: Arithmetic of a tensor and a whole number from 0 to 127, and of a tensor and another finite number.
#: The order of the two does not matter for the first three.
WITH_INT = {
    "+": Operator("l===="), "*": Operator("l===="), "-": Operator("-===="), "/": Operator("fff=="),
    "//": Operator("l===-", "any"), "%": Operator("l===-"), "**": Operator("l====", "any", float32_in_autocast=True),
}  # fmt: skip
WITH_FLOAT = {
    "+": Operator("fff=="), "*": Operator("fff=="), "-": Operator("-ff=="), "/": Operator("fff=="),
    "//": Operator("fff=-", "any"), "%": Operator("fff=-"), "**": Operator("fff==", "any", float32_in_autocast=True),
}  # fmt: skip
#: A number divided by a tensor, or raised to its power.
NUMBER_FIRST = {"/": Operator("fff==", "any", float32_in_autocast=True)}
#: Bounds of ``clamp``: whole numbers from 0 to 127, and other finite numbers.
CLAMP = (Operator("l===-"), Operator("fff=-"))
#: Comparisons with a number.
ORDER = Operator("bbbb-", keeps_history=False)
EQUALITY = Operator("bbbbb", keeps_history=False)
