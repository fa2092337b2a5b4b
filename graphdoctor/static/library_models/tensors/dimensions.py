"""How many dimensions the result of a function of torch or numpy, or of a method has; None where that is not known."""

from __future__ import annotations

from collections.abc import Mapping

from graphdoctor.static.domain import torch_tables
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.domain.values import Const, PythonValue, Seq, Tensor, Value

#: Functions whose result has as many dimensions as their operand, but other sizes or another dtype.
_SAME = torch_tables.words(
    "transpose t cdist swapaxes swapdims movedim moveaxis conj real imag angle gather index_select narrow "
    "fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn fftshift ifftshift"
)

#: Methods that may change how many dimensions a tensor itself has; all others that work in place keep that.
_RESHAPING = torch_tables.words(
    "as_strided_ resize_ resize_as_ resize_as_sparse_ set_ sparse_resize_ sparse_resize_and_clear_ squeeze_ unsqueeze_"
)

#: Operators on two tensors or more, element by element.
BROADCAST = torch_tables.words(
    "eq ne lt le gt ge add sub mul div maximum minimum logical_and logical_or logical_xor where"
)

#: Products of vectors, of matrices, and of batches of them.
_PRODUCTS = {"dot": 0, "vdot": 0, "mm": 2, "addmm": 2, "outer": 2, "bmm": 3, "baddbmm": 3}

#: Methods that make a tensor of sizes.
_NEW = torch_tables.words("new_empty new_full new_ones new_zeros")

#: Reductions whose first argument after the tensor is one dimension or several.
_ALONG = torch_tables.words("sum mean prod max min median amax amin any all argmax argmin logsumexp nansum nanmean")


def of_result(name: str, operand: Tensor | None, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> int | None:
    """The number of dimensions of ``name(*args)``, where ``operand`` is the first tensor in ``args``."""
    if name in torch_tables.REDUCTIONS and len(args) <= 1 and not (set(kwargs) & {"dim", "axis", "keepdim"}):
        return 0
    if name in torch_tables.ONE_DIMENSIONAL:
        return 1
    if name in ("nonzero", "nonzero_static", "argwhere", "combinations"):
        return 2
    if name == "cartesian_prod":
        # Of one sequence it gives that sequence.
        return 2 if sum(isinstance(a, Tensor) for a in args) > 1 else None
    if name == "einsum":
        return _of_equation(args)
    if name == "searchsorted" and len(args) > 1:
        found = tensor_of(args[1])
        is_number = isinstance(args[1], (Const, PythonValue))
        return found.ndim if found is not None else 0 if is_number else None
    if name in ("permute", "view", "reshape", "expand", "broadcast_to"):
        return _spelled(args[1:]) if not kwargs else None
    if name in _PRODUCTS:
        return _PRODUCTS[name]
    if name in torch_tables.SIZED or name in torch_tables.SIZED_BY_FIRST or name == "randint":
        return _of_sizes(name, args, kwargs)
    if name in _NEW:
        # The tensor that gives the dtype comes first.
        return _of_sizes(name, args[1:2] if name == "new_full" else args[1:], kwargs)
    if name in ("cat", "concat", "concatenate", "stack") and args:
        joined = _in_common(args[0])
        return joined if joined is None or name != "stack" else joined + 1
    if len(args) > 1 and (name in BROADCAST or (name in ("max", "min") and isinstance(args[1], Tensor))):
        return _of_largest(args)
    return None if operand is None or operand.ndim is None else _of_operand(name, operand.ndim, args, kwargs)


def _of_largest(operands: tuple[Value, ...]) -> int | None:
    """The number of dimensions that operands give together: that of the one with the most."""
    numbers = [v.ndim if isinstance(v, Tensor) else 0 if _is_number(v) else None for v in operands]
    known = [number for number in numbers if number is not None]
    return max(known) if len(known) == len(numbers) else None


def _in_common(joined: Value) -> int | None:
    """The number of dimensions of all tensors in a list; ``cat`` also takes an empty vector beside others."""
    items = (joined.items or (joined.element,)) if isinstance(joined, Seq) else ()
    numbers = {item.ndim if isinstance(item, Tensor) else None for item in items}
    return numbers.pop() if len(numbers) == 1 else None


#: Functions of numpy whose arrays have one dimension.
_ONE = torch_tables.words("arange flatnonzero hanning hamming blackman bartlett kaiser ravel")

#: Those of which the arrays have one dimension where no axis is given, and the position of the axis.
_FLAT = {"append": 2, "repeat": 2, "cumsum": 1, "cumprod": 1}

#: Those that make an array of a shape.
_OF_SHAPE = torch_tables.words("zeros ones empty full")

#: Those that keep the dimensions of their first argument.
_KEEPING = torch_tables.words(
    "sort argsort round around rint clip floor ceil trunc sqrt exp log log2 log10 abs absolute square sin cos tanh "
    "flip diff roll copy nan_to_num zeros_like ones_like full_like empty_like cumsum cumprod ascontiguousarray asarray "
    "array"
)


def of_array(name: str, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> int | None:
    """The number of dimensions of the array that the function ``name`` of numpy gives."""
    if name in _ONE or (name == "unique" and not kwargs):
        # With keywords it may give a tuple, or the rows of an array.
        return 1
    if name in _FLAT and "axis" not in kwargs and 0 < len(args) <= _FLAT[name]:
        return 1
    if name in ("linspace", "logspace", "geomspace"):
        return 1 if all(_is_number(bound) for bound in args[:2]) else None
    if name in _OF_SHAPE and args:
        return 1 if _is_int(args[0]) else _spelled(args[:1])
    if name == "permutation" and args and _is_int(args[0]):
        return 1
    if name == "concatenate" and args and isinstance(args[0], Seq) and args[0].items:
        args = args[0].items
    elif name not in _KEEPING:
        return None
    kept = args[0] if args else None
    return kept.ndim if isinstance(kept, Tensor) else None


def _is_number(value: Value) -> bool:
    return isinstance(value, Const) or (isinstance(value, PythonValue) and value.kind in ("int", "float"))


def along(name: str, operand: Tensor | None, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> int | None:
    """The number of dimensions of each result of ``topk`` or ``max(dim=0)``, which work along one dimension of
    ``operand``."""
    if operand is None or operand.ndim is None:
        return None
    if name in ("sort", "topk", "cummax", "cummin"):
        return operand.ndim
    if kwargs.get("keepdim") == Const(True):
        return operand.ndim
    leaves_one_out = name in torch_tables.PAIR_WITH_DIM and len(args) <= 2 and "keepdim" not in kwargs
    return max(operand.ndim - 1, 0) if leaves_one_out else None


def _of_operand(name: str, ndim: int, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> int | None:
    if name in torch_tables.SAME_SHAPE_OPS or name in _SAME or (name.endswith("_") and name not in _RESHAPING):
        return ndim
    if name == "unsqueeze":
        return ndim + 1
    if name in _ALONG and kwargs.get("keepdim") == Const(True):
        return ndim
    if name in _ALONG and len(args) <= 2 and kwargs.keys() <= {"dim", "axis", "dtype"}:
        found = next((kwargs[key] for key in ("dim", "axis") if key in kwargs), args[1] if len(args) > 1 else None)
        left_out = len(found.items) if isinstance(found, Seq) and found.items is not None else int(_is_int(found))
        return max(ndim - left_out, 0) if left_out else None
    return None


def _of_sizes(name: str, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> int | None:
    """The number of dimensions of what is made of sizes: ``torch.zeros(2, n)``, ``torch.randint(9, (2, n))``, but not
    ``torch.zeros(shape)``.
    """
    sizes = args[-1:] if name == "randint" else args[:1] if name in torch_tables.SIZED_BY_FIRST else args
    if "size" in kwargs:
        sizes = (kwargs["size"],)
    if len(sizes) > 1 and not any(isinstance(size, Seq) for size in sizes):
        return len(sizes)
    return _spelled(sizes) if sizes and isinstance(sizes[0], Seq) else None


def _spelled(sizes: tuple[Value, ...]) -> int | None:
    """How many sizes or dimensions are passed, separately or in a sequence of known length."""
    if len(sizes) == 1 and isinstance(sizes[0], Seq):
        items = sizes[0].items
        return len(items) if items is not None and sizes[0].kind in ("tuple", "list", "size") else None
    return len(sizes) if sizes and all(map(_is_int, sizes)) else None


def _is_int(value: Value | None) -> bool:
    if isinstance(value, Const):
        return type(value.value) is int
    return isinstance(value, PythonValue) and value.kind == "int"


def _of_equation(args: tuple[Value, ...]) -> int | None:
    """The number of dimensions that ``einsum`` gives, where its equation spells them out: 2 for ``bij,pij->bp``."""
    equation = args[0].value if args and isinstance(args[0], Const) else None
    if not isinstance(equation, str) or "->" not in equation or "." in equation:
        return None
    return len(equation.rpartition("->")[2].replace(" ", ""))
