"""The tensors that ``torch.tensor`` makes of lists and numbers in the code."""

from __future__ import annotations

from graphdoctor.static.domain.value_functions import walk
from graphdoctor.static.domain.values import Const, PythonValue, Seq, Tensor, Value


def from_literal(value: Value) -> Tensor:
    """``torch.tensor([True, False])``: the dtype follows from the elements."""
    if isinstance(value, Tensor):
        return Tensor(value.dtype, value.ndim, sizes=value.sizes)
    kinds = {
        type(v.value).__name__ if isinstance(v, Const) else getattr(v, "kind", "?")
        for v in walk(value)
        if not isinstance(v, (Seq, Tensor))
    }
    dtype = (
        "bool"
        if kinds == {"bool"}
        else "int"
        if kinds == {"int"}
        else "float"
        if kinds and kinds <= {"int", "float"}
        else None
    )
    return Tensor(dtype, _depth(value), constant=_is_one_number(value))


def _is_one_number(value: Value) -> bool:
    """A Python number, or a list of one: of a tensor of a single element, fake tensors keep the number."""
    if isinstance(value, Seq) and value.items is not None and len(value.items) == 1:
        return _is_one_number(value.items[0])
    return isinstance(value, (Const, PythonValue))


def _depth(value: Value) -> int | None:
    """The number of dimensions of a literal: how deep its lists nest."""
    if isinstance(value, (Const, PythonValue)):
        return 0
    if not isinstance(value, Seq):
        return value.ndim if isinstance(value, Tensor) else None
    inner = _depth(value.items[0] if value.items else value.element)
    return None if inner is None else inner + 1
