"""A tensor of a size, or of an array of another dtype, made by an old constructor.

What: `torch.FloatTensor(x.size())`, and the same with `torch.BoolTensor`, `torch.LongTensor` and so on; before torch
2.15 also with `torch.Tensor`. `torch.FloatTensor(np.arange(3))`.

Why: Dynamo takes the size for a list of numbers, and makes a tensor that holds them: of `(2, 3)`, one with 2 elements,
where eager code makes one of that size. Nothing is said of it, and compiled code computes something else, or fails
where the shapes no longer fit. `torch.FloatTensor(2, 3)` and `torch.FloatTensor(*x.size())` are right. An array is a
tensor to Dynamo, which these constructors take with their own dtype only: compiling fails.

Fix: Convert an array with `torch.as_tensor(array, dtype=torch.float32)`. For a size, use a function that takes one:
`torch.empty(x.size(), dtype=torch.bool)`, `torch.zeros`, `torch.rand_like(x)`.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import PythonValue, Seq, Tensor, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code

CODE = "GD519"
NAME = "size-taken-for-data"
SEVERITY = "error"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch


def f(x):
    return x + torch.FloatTensor(x.size()).fill_(0.5)  # raises
""",
    """\
import torch


def f(x: torch.Tensor):
    shape = x.shape
    return x.masked_fill(torch.BoolTensor(shape).fill_(0), 0.0)  # raises
""",
    """\
# torch <2.15
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Linear(8, 8)

    def forward(self, x):
        mean = self.mean(x)
        return mean + torch.Tensor(mean.shape).uniform_()  # raises
""",
)

CLEAN = (
    """\
import torch


def f(x):
    return x + torch.FloatTensor(*x.size()).fill_(0.5)
""",
    """\
import torch


def f(x):
    return x + torch.FloatTensor(x.size(0), x.shape[1]).fill_(0.5)
""",
    """\
import torch


def f(x):
    return x.sum() + torch.LongTensor([x.size(0), 2]).sum()
""",
    """\
import torch


def f(x):
    return x + x.new(x.size()).fill_(0.5)
""",
    """\
import torch


def f(x):
    return x + torch.empty(x.size()).fill_(0.5) + torch.zeros(x.shape)
""",
)

#: The old constructors, with the dtype of what they make.
DTYPES = {
    "Tensor": "", "FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16", "ByteTensor": "uint8", "CharTensor": "int8", "ShortTensor": "int16",
    "IntTensor": "int32", "LongTensor": "int64", "BoolTensor": "bool",
}  # fmt: skip


#: The kinds of numbers that a dtype may have, where its name does not begin with it.
_KINDS = {"bfloat16": "float", "uint8": "int"}


def watches(name: str) -> bool:
    return name.startswith("torch.") and name.removeprefix("torch.") in DTYPES


def check_call(event: Call) -> Hit | None:
    if len(event.args) != 1 or event.kwargs:
        return None
    dtype = DTYPES[event.qualname.removeprefix("torch.")]
    if dtype and all(_is_array_of_others(value, dtype) for value in options(event.args[0])):
        return Hit(
            event,
            f"{code(event)} gets an array of another dtype, which Dynamo does not convert: compiling fails",
            f"convert it with `torch.as_tensor(array, dtype=torch.{dtype})`",
            certainty(event, event.args[0]),
        )
    if not all(map(_is_size, options(event.args[0]))):
        return None
    return Hit(
        event,
        f"{code(event)} gets a size, which Dynamo takes for the data of the tensor: compiled code computes "
        "with another tensor than eager code",
        "use a function that takes a size, such as `torch.empty` or `torch.zeros`",
        certainty(event),
        torch="<2.15" if event.qualname == "torch.Tensor" else "",
    )


def _is_size(value: Value) -> bool:
    return isinstance(value, (Seq, PythonValue)) and value.kind == "size"


def _is_array_of_others(value: Value, dtype: str) -> bool:
    """Whether ``value`` is an array of numpy whose numbers are of another kind than ``dtype``."""
    kind = _KINDS.get(dtype, dtype.rstrip("0123456789"))
    return isinstance(value, Tensor) and value.numpy and value.dtype is not None and value.dtype != kind


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    call = hit.place
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or call.args[0].star:
        return Refusal("The constructor is not called by its name in torch.")
    dtype = DTYPES[call.func.attr.value]
    package = editor.code(call.func.value)
    size = editor.code(call.args[0].value)
    if hit.suggestion.startswith("convert"):
        made = f"{package}.as_tensor({size}, dtype={package}.{dtype})"
        reason = "A tensor of the same numbers and dtype; where a default device is set, it is on that device."
        return FixPlan((editor.replace(call, made),), "unsafe", reason)
    made = f"{package}.empty({size}, dtype={package}.{dtype})" if dtype else f"{package}.empty({size})"
    reason = "A tensor of the same size and dtype; where a default device is set, it is on that device."
    return FixPlan((editor.replace(call, made),), "unsafe", reason)
