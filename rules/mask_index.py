"""A boolean mask selects elements.

What: `x[mask]` read with a boolean tensor (or list), also on the way of `y[mask] += v` and `y[mask] =
x[mask]`.

Why: How many elements are selected depends on the data, so the graph ends here by default. Assignment from a
scalar or a tensor, `y[mask] = 0.0`, is traced and is fine, unless the mask is a single element (`x.sum() > 0`): torch
reads that.

Fix: Keep the full shape: `torch.where(mask, a, b)`, `masked_fill`, or sums weighted by the mask: the mean of
`x[mask]` is `(x * mask).sum() / mask.sum()`. `y[mask] += v` becomes `y = torch.where(mask, y + v, y)`.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.forms.triangles import select_by_position
from graphdoctor.fixes.python.buffers import read_once
from graphdoctor.fixes.python.capture import capture_shapes, shape_setting
from graphdoctor.fixes.rows.masked_losses import reduce_selected
from graphdoctor.fixes.rows.routed_rows import loop_over_all_rows
from graphdoctor.fixes.rows.row_classes import ignore_other_rows
from graphdoctor.fixes.rows.row_means import reduce_rows
from graphdoctor.fixes.rows.written_positions import write_positions
from graphdoctor.fixes.tensors.counts import count_kept, count_selected
from graphdoctor.fixes.tensors.masked_calls import call_with_all_rows
from graphdoctor.fixes.tensors.masks import reduce_masked, write_masked
from graphdoctor.static.domain.events import Subscript
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Const, PythonValue, Seq, Tensor, Unknown, Value
from graphdoctor.static.regions.argument_inference import is_called_mask
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence

CODE = "GD302"
NAME = "mask-index"
SEVERITY = "error"
GB_IDS = ("GB0036", "GB0033")
TORCH = ">=2.6"

BREAKS = (
    """\
def f(x):
    return x[x > 1].mean()  # GB0036
""",
    """\
def f(x):
    mask = x[:, 0] > 1
    return x[mask, :].sum()  # GB0036
""",
    """\
import torch


def f(x):
    known = torch.full((1,), True)
    mask = torch.cat([known, x[1:, 0] > 1])
    return x[mask].sum()  # GB0036
""",
    """\
import torch


def f(x):
    y = torch.zeros_like(x)
    y[x > 1] += 1.0  # GB0036
    return y
""",
    """\
import torch


def f(x):
    y = torch.zeros_like(x)
    mask = x > 1
    y[mask] = x[mask] * 2  # GB0036
    return y
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("keep", torch.tensor([True, False, True, False]))

    def forward(self, x):
        return x[self.keep]  # GB0036
""",
    """\
import torch.nn as nn


class Decoder(nn.Module):
    def forward(self, x, chosen=None):
        return x[chosen].sum()  # GB0036


class Net(nn.Module):
    def __init__(self, kind="Decoder"):
        super().__init__()
        self.decoder = globals()[kind]()

    def forward(self, x):
        return self.decoder(x, chosen=x > 1)
""",
    """\
# torch >=2.11
import torch


def f(x):
    y = torch.ones(3)
    y[x.sum() > 0] = 0.0  # GB0033
    return y
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor, padding: torch.Tensor):
        return x[~padding] * 2  # GB0036


def graphdoctor_target():
    return Net(), (torch.rand(4), torch.tensor([True, False, True, False]))
""",
    """\
import torch


def without_loops(edges, weights=None):
    kept = edges[0].ne(edges[1])
    if weights is None:
        return edges
    return edges.sum() + weights[kept].sum()  # GB0036


def f(x):
    return without_loops(x, EDGES["weights"])


EDGES = {}
EDGES.update(zip(["weights"], [torch.ones(8)]))
""",
)

CLEAN = (
    """\
def f(x):
    mask = x > 1
    return (x * mask).sum() / mask.sum()
""",
    """\
def f(x):
    position = (x[:, 0] > 1).cumsum(0)
    return x[position.clamp(max=3)]
""",
    """\
import torch


def f(x):
    order = torch.cat([torch.full((2,), 1), torch.arange(2)])
    return x[order]
""",
    """\
import torch


def f(x):
    y = torch.zeros_like(x)
    y[x > 1] = 1.0
    return y
""",
    """\
import torch


def f(x):
    y = torch.zeros_like(x)
    y[x > 1] = x.mean()
    return y
""",
    """\
import torch


def f(x):
    return torch.where(x > 1, x + 1.0, x)
""",
    """\
def f(x):
    order = x[:, 0].argsort()
    return x[order]
""",
    """\
import torch


def f(x):
    return x[torch.tensor([0, 2])] + x[[1, 3]]
""",
    """\
def f(x):
    return x[None, ..., 0] + x[:, 1:2]
""",
    """\
def f(x):
    x[0] += 1.0
    return x
""",
    """\
import torch


def f(x):
    y = torch.ones(4, 8)
    y[x.sum(1) > 0] = 0.0
    y[(x.sum() > 0)[None].expand(4)] = 1.0
    return torch.where(x.sum() > 0, y, x)
""",
)


def check_subscript(event: Subscript) -> Hit | None:
    if event.mode not in ("load", "augment"):
        return _written_where_flagged(event) if event.mode == "store" else None
    mask = next((index for index in event.index if _is_mask(index)), None)
    by_custom = _taken_for_mask(event) if mask is None else None
    if mask is None and by_custom is None:
        return None
    reads = "reads what the mask selects before it writes" if event.mode == "augment" else "selects by a mask"
    return Hit(
        event,
        f"{code(event)} {reads}, so the number of elements depends on the data",
        "keep the full shape: `torch.where(mask, a, b)`, `masked_fill`, or a sum weighted by the mask",
        "likely"
        if by_custom is not None or isinstance(event.receiver, Unknown)
        else certainty(event, mask if not isinstance(mask, Seq) else None),
        consequence=consequence(event),
    )


def _taken_for_mask(event: Subscript) -> Tensor | None:
    """The index that is a mask by custom: ``x[~padding]``, as nobody inverts numbers, and one that is called so.

    What stands beside positions, as in ``x[rows, last_mask]``, is taken for positions, too.
    """
    elements = event.node.slice if isinstance(event.node, cst.Subscript) else ()
    if any(isinstance(index, Tensor) and index.dtype == "int" and index.ndim != 0 for index in event.index):
        return None
    for element, index in zip(elements, event.index, strict=False):
        tensor = next((o for o in options(index) if isinstance(o, Tensor) and o.dtype is None), None)
        written = element.slice.value if isinstance(element.slice, cst.Index) else None
        inverted = isinstance(written, cst.UnaryOperation) and isinstance(written.operator, cst.BitInvert)
        named = isinstance(written, cst.Name) and is_called_mask(written.value)
        if tensor is not None and (inverted or named):
            return tensor
    return None


def _written_where_flagged(event: Subscript) -> Hit | None:
    """A mask of one element, which says whether the whole is written: torch reads it on the host."""
    flag = next((i for i in event.index if isinstance(i, Tensor) and i.dtype == "bool" and i.ndim == 0), None)
    if flag is None or flag.numpy:
        return None
    return Hit(
        event,
        f"whether {code(event)} is written depends on one element, which has to be read",
        "select with `torch.where(flag, value, y)`",
        certainty(event, flag),
        consequence=consequence(event),
    )


def _is_mask(index: Value) -> bool:
    for option in options(index):
        if isinstance(option, Tensor) and option.dtype == "bool":
            return True
        if isinstance(option, Seq) and option.items and all(_is_bool(item) for item in option.items):
            return True
    return False


def _is_bool(value: Value) -> bool:
    return (isinstance(value, Const) and isinstance(value.value, bool)) or (
        isinstance(value, PythonValue) and value.kind == "bool"
    )


def recorded_by(hit: Hit, editor: Editor) -> str:
    return shape_setting(hit, editor)


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    if isinstance(hit.event, Subscript) and hit.event.mode == "store":
        return Refusal("A single element decides over all of them: select with `torch.where` where the value is used.")
    plan = first_fit(
        hit,
        editor,
        select_by_position,
        write_masked,
        read_once,
        count_selected,
        count_kept,
        call_with_all_rows,
        reduce_masked,
        reduce_rows,
        loop_over_all_rows,
        write_positions,
        reduce_selected,
        ignore_other_rows,
    )
    # Where nothing fits, it helps most to know why not even the setting does.
    return plan if isinstance(plan, FixPlan) else first_fit(hit, editor, capture_shapes)
