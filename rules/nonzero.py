"""The number of nonzero elements becomes a shape.

What: `torch.nonzero`, `Tensor.nonzero`, `torch.argwhere` and `torch.where` with one argument, also of numpy
arrays.

Why: The shape of the result depends on the data. By default Dynamo ends the graph here; `fullgraph=True`
(torch 2.10 or later) and `torch._dynamo.config.capture_dynamic_output_shape_ops = True` keep the size as a
symbol, as long as nothing reads it.

Fix: Work with the mask: `torch.where(mask, a, b)`, `masked_fill`, sums weighted by the mask.
`torch.nonzero_static(x, size=n)` has a fixed shape. For mixtures of experts loop over all experts.
"""

from __future__ import annotations

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.python.buffers import read_once
from graphdoctor.fixes.python.capture import capture_shapes, shape_setting
from graphdoctor.fixes.rows.experts import loop_over_all
from graphdoctor.fixes.rows.routed_rows import loop_over_all_rows
from graphdoctor.fixes.tensors.indices import without_indices
from graphdoctor.static.domain.events import Call
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence, takes_tensor

CODE = "GD301"
NAME = "nonzero"
SEVERITY = "error"
GB_IDS = ("GB0036",)
TORCH = ">=2.6"

FUNCTIONS = ("nonzero", "argwhere", "flatnonzero")

BREAKS = (
    """\
import torch


def f(x):
    return torch.nonzero(x > 1).float().sum()  # GB0036
""",
    """\
def f(x):
    rows, columns = (x > 1).nonzero(as_tuple=True)  # GB0036
    return rows + columns
""",
    """\
import torch


def f(x):
    (index,) = torch.where(x[0] > 1)  # GB0036
    return index.sum()
""",
    """\
import torch


def f(x):
    return torch.argwhere(x > 1)  # GB0036
""",
)

CLEAN = (
    """\
import torch


def f(x):
    return torch.where(x > 1, x, 0.0)
""",
    """\
import torch


def f(x):
    return torch.count_nonzero(x > 1)
""",
    """\
import torch


def f(x):
    return torch.nonzero_static(x > 1, size=4)
""",
    """\
def f(x):
    return x.masked_fill(x > 1, 0.0)
""",
    """\
def f(x):
    return x.where(x > 1, 0.0)
""",
    """\
def f(x):
    values, index = x.flatten().topk(3)
    return x.flatten()[index]
""",
)


def watches(name: str) -> bool:
    package, _, last = name.rpartition(".")
    return (last in FUNCTIONS or last == "where") and package in ("torch", "torch.Tensor", "numpy", "numpy.ndarray")


def check_call(event: Call) -> Hit | None:
    name = event.qualname.rpartition(".")[2]
    alone = name == "where" and event.receiver is None and len(event.args) == 1 and not event.kwargs
    if not alone and name not in FUNCTIONS:
        return None
    operand = event.receiver if event.receiver is not None else event.args[0] if event.args else None
    if operand is None or not takes_tensor(event, operand):
        return None
    return Hit(
        event,
        f"the shape of {code(event)} depends on the data",
        "work with the mask (`torch.where` with three arguments, `masked_fill`) or use `torch.nonzero_static`",
        certainty(event, operand),
        consequence=consequence(event),
    )


def recorded_by(hit: Hit, editor: Editor) -> str:
    return shape_setting(hit, editor)


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    return first_fit(hit, editor, without_indices, read_once, loop_over_all, loop_over_all_rows, capture_shapes)
