"""Each operator that proofs rest on, run on each dtype: the dtype of its result, its gradients, its memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from graphdoctor.fixes.proof.operators import (
    ALSO_FUNCTIONAL,
    CLAMP,
    EQUALITY,
    ONLY_FUNCTIONAL,
    OPERATORS,
    ORDER,
    WITH_FLOAT,
    WITH_INT,
    Operator,
)

torch = pytest.importorskip("torch")

DTYPES = {
    "bool": (torch.bool,),
    "uint8": (torch.uint8,),
    "int": (torch.int8, torch.int32, torch.int64),
    "float": (torch.float16, torch.bfloat16, torch.float32, torch.float64),
    "complex": (torch.complex64, torch.complex128),
}
NAMED = {
    "f": torch.float32, "l": torch.int64, "b": torch.bool, "s": torch.float32, "d": torch.float64, "h": torch.float16,
    "i": torch.int32,
}  # fmt: skip
#: Zeros, signs, large, small, infinite and NaN.
VALUES = (
    [0.0, 1.0, -1.0, 0.5],
    [float("inf"), 1.0, float("-inf"), 0.0],
    [float("inf")] * 4,
    [1e38, -1e38, 1e-45, -0.0],
    [-100.0, 100.0, -1000.0, 1000.0],
    [3.0, -3.0, 6.0, 88.0],
)
WITH_NAN = ([float("nan"), 1.0, 2.0, 3.0], [float("nan")] * 4)


def function_of(name: str) -> Callable[[Any], Any]:
    if hasattr(torch.Tensor, name):
        return lambda x: getattr(x, name)()
    if hasattr(torch, name):
        return getattr(torch, name)  # type: ignore[no-any-return]
    return getattr(torch.nn.functional, name)  # type: ignore[no-any-return]


CASES: dict[str, tuple[Operator, Callable[[Any], Any]]] = {n: (o, function_of(n)) for n, o in OPERATORS.items()}
for symbol, operator in WITH_INT.items():
    CASES[f"x {symbol} 2"] = operator, eval(f"lambda x: x {symbol} 2")
    CASES[f"x {symbol} 127"] = (
        (operator, eval(f"lambda x: x {symbol} 127")) if symbol != "**" else (operator, eval("lambda x: x ** 3"))
    )
    if symbol in ("+", "-", "*"):
        CASES[f"2 {symbol} x"] = operator, eval(f"lambda x: 2 {symbol} x")
for symbol, operator in WITH_FLOAT.items():
    CASES[f"x {symbol} 1.5"] = operator, eval(f"lambda x: x {symbol} 1.5")
CASES["2 / x"] = Operator("fff==", "any"), lambda x: 2 / x
CASES["clamp(0, 1)"] = CLAMP[0], lambda x: x.clamp(0, 1)
CASES["clamp(max=1.5)"] = CLAMP[1], lambda x: x.clamp(max=1.5)
CASES["x > 0"] = ORDER, lambda x: x > 0
CASES["x == 0"] = EQUALITY, lambda x: x == 0


def result_dtype(function: Callable[[Any], Any], dtype: Any) -> Any:
    """The dtype of the result for ones of ``dtype``; None where the operator raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(torch.ones(2, 2, dtype=dtype)).dtype
        except (RuntimeError, NotImplementedError, TypeError):
            return None


@pytest.mark.parametrize("name", OPERATORS)
def test_where_an_operator_is_found(name: str) -> None:
    functional = hasattr(torch.nn.functional, name)
    if name in ONLY_FUNCTIONAL:
        assert functional and not hasattr(torch.Tensor, name)
    else:
        assert hasattr(torch.Tensor, name) or hasattr(torch, name)
        assert functional or name not in ALSO_FUNCTIONAL


@pytest.mark.parametrize("name", CASES)
def test_the_dtype_of_the_result(name: str) -> None:
    operator, function = CASES[name]
    for letter, dtypes in zip(operator.dtypes, DTYPES.values(), strict=True):
        for dtype in dtypes:
            if letter != "?":
                said = {"=": dtype, "-": None, "r": torch.empty(0, dtype=dtype).real.dtype}
                assert result_dtype(function, dtype) == said.get(letter, NAMED.get(letter)), dtype


@pytest.mark.parametrize("name", CASES)
def test_the_gradient_of_a_side_that_is_not_taken(name: str) -> None:
    operator, function = CASES[name]
    if not operator.keeps_history or "b" in operator.dtypes[3] or operator.dtypes[3] in "li":
        return
    values = VALUES if operator.gradient == "nan" else (*VALUES, *WITH_NAN)
    is_zero = all(zero_gradient(function, row, shape) for row in values for shape in ((4,), (2, 2)))
    assert is_zero is (operator.gradient != "any")
    if operator.gradient == "nan":
        assert not all(zero_gradient(function, row, (4,)) for row in WITH_NAN)


def zero_gradient(function: Callable[[Any], Any], values: list[float], shape: tuple[int, ...]) -> bool:
    """Whether the operand's gradient is zero where the result's is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = torch.tensor(values).reshape(shape).requires_grad_()
        y = function(x)
        try:
            torch.where(torch.tensor(False), y, torch.ones_like(y)).sum().backward()
        except RuntimeError:  # There is no gradient of it.
            return False
    return x.grad is not None and bool((x.grad == 0).all())


@pytest.mark.parametrize("name", CASES)
def test_whether_the_result_is_new(name: str) -> None:
    operator, function = CASES[name]
    shared = False
    for dtypes in DTYPES.values():
        for dtype in dtypes:
            x = torch.ones(2, 2, dtype=dtype)
            if result_dtype(function, dtype) is not None:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    shared |= function(x).untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert shared is not operator.fresh


@pytest.mark.parametrize("name", [n for n, (operator, _) in CASES.items() if operator.reduces])
def test_reductions_of_nothing(name: str) -> None:
    operator, function = CASES[name]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert function(torch.ones(0)).shape == ()
    except (RuntimeError, IndexError):
        assert operator.raises_on_empty
    else:
        # amax and amin of nothing raise too, but only along an empty dimension.
        assert not operator.raises_on_empty
