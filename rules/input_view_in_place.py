"""An input whose shape or strides are changed in place.

What: `x.squeeze_(1)`, `x.unsqueeze_(0)`, `x.transpose_(1, 2)`, `x.t_()`, `swapaxes_`, `swapdims_` and `as_strided_`
on an argument, on what a batch holds, on a parameter or buffer, or on a tensor from before a graph break.

Why: Dynamo records no operator that changes the metadata of a graph input, because AOTAutograd and Inductor could not
carry the change back to the caller's tensor. A tensor that the graph computes itself may be changed in this way, and so
may the elements of an input.

Fix: Bind the name to a new view: `x = x.squeeze(1)`. It has the same memory, and the caller's tensor keeps its shape.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Tensor
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence

CODE = "GD520"
NAME = "input-view-in-place"
SEVERITY = "error"
GB_IDS = ("GB0148",)
TORCH = ">=2.6"

#: The methods whose operators torch tags ``inplace_view``, apart from those of other rules (``detach_``, ``resize_``).
METHODS = frozenset(("squeeze_", "unsqueeze_", "transpose_", "t_", "swapaxes_", "swapdims_", "as_strided_"))

BREAKS = (
    """\
def f(x):
    x.unsqueeze_(0)  # GB0148
    return x * 2
""",
    """\
import torch


def f(x):
    return x.t_() + 1  # GB0148


def graphdoctor_target():
    return f, (torch.rand(2, 3),)
""",
    """\
import torch


def f(batch):
    batch["mask"].squeeze_(1)  # GB0148
    return batch["x"] * batch["mask"]


def graphdoctor_target():
    return f, ({"x": torch.rand(2, 3), "mask": torch.rand(2, 1, 3)},)
""",
)

CLEAN = (
    """\
def f(x):
    x = x.unsqueeze(0)
    return x * 2
""",
    """\
def f(x):
    y = x + 1
    y.unsqueeze_(0)
    return y * 2
""",
    """\
def f(x):
    return x.clone().unsqueeze_(0).squeeze_(0)
""",
    """\
def f(x):
    row = x[0:1]
    row.squeeze_(0)
    return row * 2
""",
    """\
def wide(x):
    x.unsqueeze_(-1)
    return x + 1


def f(x):
    return wide(x.exp())
""",
    """\
def f(x):
    x.add_(1)
    return x * 2
""",
)


def watches(name: str) -> bool:
    package, _, method = name.rpartition(".")
    return package == "torch.Tensor" and method in METHODS


def check_call(event: Call) -> Hit | None:
    tensors = [option for option in options(event.receiver) if isinstance(option, Tensor)] if event.receiver else []
    if not tensors or not all(tensor.argument or tensor.owned for tensor in tensors):
        return None
    method = event.qualname.rpartition(".")[2]
    return Hit(
        event,
        f"{code(event)} changes the shape or strides of an input in place, which Dynamo does not trace",
        f"bind the name to a new view with `{method.removesuffix('_')}`",
        certainty(event, event.receiver),
        consequence=consequence(event),
    )


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    call = hit.place
    method = call.func if isinstance(call, cst.Call) and isinstance(editor.parent(call), cst.Expr) else None
    if not isinstance(method, cst.Attribute) or not isinstance(method.value, cst.Name):
        return Refusal("The value of the call is used, or the tensor has no name of its own.")
    name, arguments = method.value.value, editor.code(call)[len(editor.code(method)) :]
    view = f"{name}.{method.attr.value.removesuffix('_')}{arguments}"
    reason = "What else holds the tensor, such as the caller of the function, keeps its shape."
    return FixPlan((editor.replace(call, f"{name} = {view}"),), "unsafe", reason)
