"""The tensors that a function of torch, or a method of a tensor, gives."""

from __future__ import annotations

from graphdoctor.static.domain import torch_tables
from graphdoctor.static.domain.fast_frozen import frozen
from graphdoctor.static.domain.value_functions import may_be_tensor, tensor_of, walk
from graphdoctor.static.domain.values import UNKNOWN, Const, External, PythonValue, Seq, Tensor, Value
from graphdoctor.static.library_models.tensors import dimensions, literals

Kwargs = dict[str, Value]


@frozen
class _Call:
    """A call of ``name``; of a method, ``args[0]`` is the tensor."""

    name: str
    args: tuple[Value, ...]
    kwargs: Kwargs
    #: The first tensor in the arguments.
    operand: Tensor | None
    #: The dtype of the values that the call gives.
    dtype: str | None
    #: Whether it surely gives tensors.
    is_known: bool
    compiled: bool


def result_of(name: str, args: tuple[Value, ...], kwargs: Kwargs, is_function: bool, compiled: bool) -> Value:
    """What a function of torch gives, or a method; ``args[0]`` of a method is the tensor."""
    operand = tensor_of(args[0]) if args else None
    if operand is None:
        operand = next((t for a in args for t in walk(a, 2) if isinstance(t, Tensor)), None)
    is_known = is_function or operand is None or operand.is_known
    call = _Call(name, args, kwargs, operand, result_dtype(name, operand, args, kwargs), is_known, compiled)
    several = _tuple_of_tensors(call)
    return several if several is not None else _one_tensor(call)


def _tuple_of_tensors(call: _Call) -> Seq | None:
    """The result where it is a tuple of tensors; None where it is not."""
    name, args, kwargs = call.name, call.args, call.kwargs
    has_dim = len(args) > 1 or "dim" in kwargs
    if name in torch_tables.TUPLE_OPS or (
        name in torch_tables.PAIR_WITH_DIM and has_dim and not _elementwise(name, args)
    ):
        length = torch_tables.TUPLE_OPS.get(name, 2)
        one = Tensor(call.dtype, dimensions.along(name, call.operand, args, kwargs), is_known=call.is_known)
        if name in _VALUES_AND_INDICES or name in torch_tables.PAIR_WITH_DIM:
            return Seq("tuple", (one, Tensor("int", one.ndim, is_known=call.is_known)))
        return Seq("tuple", (one,) * length) if length else Seq("tuple", None, one)
    if name in ("unique", "unique_consecutive") and any(k in kwargs for k in ("return_inverse", "return_counts")):
        parts = _parts_of_unique(call) if len(args) == 1 else None
        return Seq("tuple", parts, Tensor(call.dtype, is_known=call.is_known))
    if (name == "where" and len(args) == 1) or (name == "nonzero" and kwargs.get("as_tuple") == Const(True)):
        return Seq("tuple", None, Tensor("int", 1, unbacked=call.compiled))
    return Seq("tuple", None, Tensor(call.dtype)) if name in ("qr", "triplet", "unravel_index") else None


#: Functions that give values and where they stand in the operand.
_VALUES_AND_INDICES = ("sort", "topk", "kthvalue", "mode", "cummax", "cummin")


def _one_tensor(call: _Call) -> Tensor:
    """The result where it is one tensor."""
    name, operand, args = call.name, call.operand, call.args
    constant = operand is None and name in torch_tables.NUMBER_OPS
    sizes = literal_sizes(name, args, call.kwargs)
    if constant:
        ndim: int | None = 0
    elif sizes is not None:
        ndim = len(sizes)
    else:
        ndim = dimensions.of_result(name, operand, args, call.kwargs)
    if operand is not None and name in torch_tables.SAME_SHAPE_OPS:
        sizes = operand.sizes
        constant = operand.constant
    elif name in dimensions.BROADCAST or _elementwise(name, args):
        # Dynamo computes it of constants too: `torch.min(torch.as_tensor(4), torch.as_tensor(x.shape[0]))`.
        constant = all(arg.constant for arg in (*args, *call.kwargs.values()) if isinstance(arg, Tensor))
    dense = name in ("to_dense", "mm", "matmul") or name in torch_tables.PARTS_OF_SPARSE
    sparse = name.startswith(("to_sparse", "sparse_")) or (operand is not None and operand.sparse and not dense)
    second = args[1] if len(args) > 1 else None
    unbacked = _keeps_unbacked_rows(call) or (name in torch_tables.DATA_SIZED and call.compiled)
    return Tensor(
        call.dtype,
        ndim,
        is_known=call.is_known,
        sparse=sparse,
        constant=constant,
        sizes=sizes,
        unbacked=unbacked,
        subclass=(operand is not None and operand.subclass) or (isinstance(second, Tensor) and second.subclass),
    )


def _keeps_unbacked_rows(call: _Call) -> bool:
    """Whether the number of rows of the operand depends on data, and that of the result with it."""
    name, args = call.name, call.args
    if call.operand is None or not call.operand.unbacked:
        return False
    if name in ("view", "reshape") and len(args) > 1 and isinstance(args[1], Const):
        # The first size is given, or it is what all the others leave.
        return args[1] == Const(-1)
    return name in torch_tables.SAME_SHAPE_OPS or name in torch_tables.KEEP_ROWS


def _parts_of_unique(call: _Call) -> tuple[Value, ...] | None:
    """What ``unique`` gives of all elements: the values, their places, how many of each; None where flags decide it."""
    flags = [call.kwargs.get(name, Const(False)) for name in ("return_inverse", "return_counts")]
    if "dim" in call.kwargs or not all(isinstance(flag, Const) for flag in flags):
        return None
    parts = (Tensor("int", is_known=call.is_known), Tensor("int", 1, is_known=call.is_known))
    asked = (part for part, flag in zip(parts, flags, strict=True) if flag == Const(True))
    return (Tensor(call.dtype, 1, is_known=call.is_known), *asked)


def literal_sizes(name: str, args: tuple[Value, ...], kwargs: Kwargs) -> tuple[int, ...] | None:
    """The shape of what a constructor makes, where it is spelled out: ``torch.rand(4, 8)``, ``torch.zeros((2,))``.

    ``x.new()`` is empty.
    """
    if name == "new" and len(args) == 1 and not kwargs:
        return (0,)
    if name in torch_tables.SIZED_BY_FIRST:
        args = args[:1]
    elif name == "randint":
        args = args[-1:]
    elif name not in torch_tables.SIZED:
        return None
    size = kwargs.get("size")
    values = (size,) if size is not None else args
    spelled = len(values) == 1 and isinstance(values[0], Seq) and values[0].items is not None
    if spelled and isinstance(values[0], Seq):
        values = values[0].items or ()
    sizes = [v.value for v in values if isinstance(v, Const) and type(v.value) is int]
    return tuple(sizes) if len(sizes) == len(values) and (sizes or spelled) else None


def _elementwise(name: str, args: tuple[Value, ...]) -> bool:
    """``torch.max(a, b)`` with two tensors is elementwise."""
    return name in ("max", "min") and len(args) > 1 and may_be_tensor(args[1])


def _is_int(value: Value) -> bool:
    if isinstance(value, Const):
        return type(value.value) is int
    return value.dtype == "int" if isinstance(value, Tensor) else isinstance(value, PythonValue) and value.kind == "int"


def family(dtype: Value) -> str | None:
    """The kind of numbers of a dtype; Python's own types stand for theirs: ``torch.ones(4, dtype=bool)``."""
    if isinstance(dtype, External):
        package, _, name = dtype.qualname.rpartition(".")
        return name if package == "builtins" and name in ("bool", "int", "float", "complex") else None
    return dtype.family if isinstance(dtype, PythonValue) else None


def result_dtype(name: str, operand: Tensor | None, args: tuple[Value, ...], kwargs: Kwargs) -> str | None:
    """The kind of numbers that ``name`` gives, where ``operand`` is the first tensor in ``args``."""
    if "dtype" in kwargs:
        return family(kwargs["dtype"])
    if name in torch_tables.BOOL_OPS:
        return "bool"
    if name in torch_tables.INT_OPS or (name == "arange" and all(_is_int(a) for a in args)):
        return "int"
    if name in torch_tables.FLOAT_OPS:
        return "float"
    if operand is not None and (name in torch_tables.SAME_DTYPE_OPS or name.endswith("_")):
        return operand.dtype
    if name in ("sum", "prod", "cumsum") and operand is not None:
        return "int" if operand.dtype in ("bool", "int") else operand.dtype
    if name.startswith("bitwise_") and operand is not None:
        return operand.dtype
    if name in torch_tables.JOINS and args:
        kinds = {v.dtype if isinstance(v, Tensor) else None for v in walk(args[0], 2) if not isinstance(v, Seq)}
        return kinds.pop() if len(kinds) == 1 else None
    if name == "full":
        fill = kwargs.get("fill_value") or (args[1] if len(args) > 1 else UNKNOWN)
        return literals.from_literal(fill).dtype if isinstance(fill, (Const, PythonValue)) else None
    return None
