"""Calls into numpy: the results of its functions."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from graphdoctor.static.domain import torch_tables
from graphdoctor.static.domain.events import Convert
from graphdoctor.static.domain.value_functions import holds_tensor, options
from graphdoctor.static.domain.values import UNKNOWN, Const, ExternalObject, PythonValue, Seq, Tensor, Value
from graphdoctor.static.interp.interpreter import Interpreter
from graphdoctor.static.library_models.tensors import dimensions, literals

Kwargs = dict[str, Value]


def call_numpy(
    interpreter: Interpreter, node: cst.CSTNode, qualname: str, args: tuple[Value, ...], kwargs: Kwargs
) -> Value:
    """The result of a function or class of numpy, by its dotted name. Dynamo traces arrays as tensors."""
    name = qualname.rpartition(".")[2]
    if qualname in _SIZES:
        _read_sizes(interpreter, node, name, [*(args[k] for k in _SIZES[qualname] if k < len(args))])
    if torch_tables.dtype_of(name) is not None and args and name not in ("bool", "int", "float"):
        is_input = not interpreter.frame.compiled
        return Tensor(torch_tables.dtype_of(name), 0, numpy=True, argument=is_input, constant=is_input)
    if name in ("dtype", "errstate", "printoptions", "finfo", "iinfo", "ndarray", "default_rng", "RandomState"):
        return ExternalObject(qualname)
    if qualname.startswith("numpy.random.") and (drawn := _drawn_number(name, args, kwargs)) is not None:
        return drawn
    if qualname in _OF_PYTHON:
        return _OF_PYTHON[qualname]
    scalar = name in _REDUCTIONS or name in _OF_ONE_NUMBER or name in _OF_TWO_NUMBERS
    of_numbers = scalar and not any(holds_tensor(a) and not isinstance(a, Seq) for a in args)
    ndim = 0 if (of_numbers or (name in _REDUCTIONS and len(args) == 1)) and "axis" not in kwargs else None
    ndim = dimensions.of_array(name, args, kwargs) if ndim is None else ndim
    if name in ("array", "asarray") and args and not holds_tensor(args[0]) and "dtype" not in kwargs:
        return replace(literals.from_literal(args[0]), numpy=True, constant=False)
    dtype = _dtype(name, args, kwargs)
    if name == "prod" and args and isinstance(args[0], Seq) and args[0].items is not None and len(args[0].items) == 1:
        # Dynamo evaluates the product of one number.
        return args[0].items[0]
    if scalar and len(args) == 1 and interpreter.frame.compiled:
        if _is_constant(args[0]):
            # Dynamo evaluates it. In eager code the result is a numpy scalar, which compiled code treats as tensor
            # data.
            return PythonValue("float")
        if name in _OF_ONE_NUMBER and not any(map(_may_be_array, options(args[0]))):
            return _evaluated(args, "float")
    of_two = name in _OF_TWO_NUMBERS and len(args) == 2 and interpreter.frame.compiled
    if of_two and not any(_may_be_array(part) for arg in args for part in options(arg)):
        whole = name in ("gcd", "lcm") or all(_is_whole(part) for arg in args for part in options(arg))
        return _evaluated(args, "int" if whole else None)
    # A numpy scalar that eager code computed is an input of the graph with a known value.
    is_input = ndim == 0 and not interpreter.frame.compiled
    return Tensor(dtype, ndim, numpy=True, argument=is_input, constant=is_input)


def _dtype(name: str, args: tuple[Value, ...], kwargs: Kwargs) -> str | None:
    """The kind of numbers in the array that ``name`` gives; that of ``np.arange(3)`` is that of its bounds."""
    if name in torch_tables.BOOL_OPS:
        return "bool"
    if name in torch_tables.INT_OPS or (name == "arange" and not kwargs and args and all(map(_is_whole, args))):
        return "int"
    kinds = {arg.dtype if isinstance(arg, Tensor) else None for arg in args} if name == "meshgrid" else set()
    return kinds.pop() if len(kinds) == 1 else None


#: Functions that give no array: a flag, a number, a type, or the sizes of an array.
_OF_PYTHON: dict[str, Value] = {
    f"numpy.{name}": value
    for names, value in (
        ("allclose array_equal can_cast iscomplexobj isrealobj isscalar issubdtype iterable", PythonValue("bool")),
        ("ndim size", PythonValue("int")),
        ("common_type min_scalar_type promote_types result_type", ExternalObject("numpy.dtype")),
        ("broadcast_shapes shape", UNKNOWN),
    )
    for name in torch_tables.words(names)
}

#: Functions that make an array, and the positions of the arguments that give its size.
_SIZES = {
    "numpy.arange": (0, 1, 2), "numpy.zeros": (0,), "numpy.ones": (0,), "numpy.empty": (0,), "numpy.full": (0,),
    "numpy.eye": (0, 1), "numpy.linspace": (2,),
}  # fmt: skip


def _read_sizes(interpreter: Interpreter, node: cst.CSTNode, name: str, sizes: list[Value]) -> None:
    """Emit ``Convert`` for tensor data that gives the size of an array: ``np.arange(0, np.array(x.shape)[1])``."""
    for size in sizes:
        parts = size.items if isinstance(size, Seq) and size.items is not None else (size,)
        # Of others it is not sure that they are data: Dynamo evaluates `2 * np.log(number)` of a Python number.
        read = next((part for part in parts if isinstance(part, Tensor) and part.dtype == "int"), None)
        if read is not None:
            interpreter.emit(Convert, node, value=read, to="size", how=f"np.{name}")


#: Functions that reduce an array to one number where no axis is given.
_REDUCTIONS = frozenset({"prod", "sum", "mean", "max", "min"})

#: Elementwise functions: they give a number for a Python number.
_OF_ONE_NUMBER = frozenset({"sqrt", "ceil", "floor", "log", "log2", "exp", "round"})

#: The same of two numbers.
_OF_TWO_NUMBERS = frozenset({"fmax", "fmin", "floor_divide", "gcd", "lcm", "maximum", "minimum", "mod"})


def _is_whole(value: Value) -> bool:
    number = value.value if isinstance(value, Const) else None
    return type(number) is int or (isinstance(value, PythonValue) and value.kind == "int")


def _evaluated(args: tuple[Value, ...], dtype: str | None) -> Value:
    """What a function of each element gives for numbers: Dynamo evaluates it for sizes too, but the result has the
    methods of an array, which it does not evaluate.
    """
    numbers = all(isinstance(part, (Tensor, PythonValue, Const)) for arg in args for part in options(arg))
    return Tensor(dtype, 0, numpy=True, constant=True) if numbers else UNKNOWN


#: Functions of ``numpy.random`` that give a Python number, with the number of arguments before ``size``.
_DRAW_NUMBERS = {
    **dict.fromkeys(torch_tables.words(
        "rand randn random random_sample ranf sample standard_normal standard_exponential standard_cauchy"), 0),
    **dict.fromkeys(torch_tables.words(
        "standard_gamma standard_t poisson exponential chisquare rayleigh geometric weibull pareto power"), 1),
    **dict.fromkeys(torch_tables.words(
        "uniform normal beta gamma binomial lognormal laplace gumbel logistic vonmises wald f randint"), 2),
    "triangular": 3,
}  # fmt: skip
_WHOLE = ("randint", "poisson", "geometric", "binomial")


def _drawn_number(name: str, args: tuple[Value, ...], kwargs: Kwargs) -> Value | None:
    """The result of a function of ``numpy.random`` without a shape; None where it may be an array.

    The graph ends at the call, so the code after it has a plain number.
    """
    before = _DRAW_NUMBERS.get(name)
    if before is None or len(args) > before or "size" in kwargs:
        return None
    if any(holds_tensor(a) or isinstance(a, Seq) for a in (*args, *kwargs.values())):
        return None
    return PythonValue("int" if name in _WHOLE else "float")


def _is_constant(value: Value) -> bool:
    """Whether ``value`` is a constant of the trace: a number that comes from no shape and no tensor data."""
    number = (
        isinstance(value, PythonValue) and value.kind in ("int", "float") and not (value.shape or value.data_dependent)
    )
    return number or isinstance(value, Const)


def _may_be_array(value: Value) -> bool:
    """Whether numpy gives tensor data for ``value``: an array, a list, an input, a number that was read."""
    if isinstance(value, Tensor):
        return not (value.numpy and value.constant) or value.argument
    return isinstance(value, Seq) or (isinstance(value, PythonValue) and value.data_dependent)
