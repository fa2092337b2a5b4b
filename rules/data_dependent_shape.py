"""An operator whose output shape depends on the data.

What: `unique`, `unique_consecutive`, `masked_select`, `bincount`, `repeat_interleave` with tensor repeats and
no `output_size`, `one_hot` without `num_classes`, `combinations`, `torch.linalg.lstsq`, `ctc_loss`,
`pack_padded_sequence`, `pad_packed_sequence`; the layers `nn.CTCLoss` and `nn.AdaptiveLogSoftmaxWithLoss`; `nms`,
`batched_nms` and the losses of boxes of torchvision.

Why: Dynamo needs the shape of each result to go on. By default it ends the graph before such an operator.
`fullgraph=True` takes most of them (the size becomes a symbol); `one_hot`, `lstsq` and `ctc_loss` never pass.

Fix: Give the size: `num_classes=`, `output_size=`. Work with masks in place of selections, `scatter_add_`
with a fixed length in place of `bincount`. Otherwise compute it outside the compiled function.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.forms.triangles import select_by_position
from graphdoctor.fixes.python.capture import capture_shapes, shape_setting
from graphdoctor.fixes.rows.masked_losses import reduce_selected
from graphdoctor.fixes.rows.routed_rows import loop_over_all_rows
from graphdoctor.fixes.rows.scattered_selection import scatter_selected
from graphdoctor.fixes.rows.sorted_experts import loop_over_all_sorted
from graphdoctor.fixes.tensors.counts import count_distinct, count_into, count_kept
from graphdoctor.fixes.tensors.masks import reduce_masked
from graphdoctor.fixes.tensors.number_lists import give_size
from graphdoctor.fixes.tensors.other_forms import least_squares
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.value_functions import holds_tensor, may_be_tensor
from graphdoctor.static.domain.values import NONE, Const, Seq, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence, takes_tensor

CODE = "GD303"
NAME = "data-dependent-shape"
SEVERITY = "error"
GB_IDS = ("GB0036", "GB0246", "GB0007")
TORCH = ">=2.6"

_BOXES = "select the boxes after the compiled call"
# A bidirectional layer reads the padding first on its way back, so masks give it another result.
_PACKING = (
    "mask the padding in place of packing; leave a bidirectional layer, which needs it, outside the compiled code"
)
_OVERLAPS = "compute the loss outside the compiled function: it selects the boxes that overlap"
SUGGESTIONS = {
    "unique": "compute it outside the compiled function, or mark duplicates with a comparison matrix",
    "unique_consecutive": "compute it outside the compiled function",
    "masked_select": "keep the full shape: `torch.where(mask, x, 0)` or `masked_fill`",
    "bincount": "use `torch.zeros(n, dtype=torch.long, device=index.device).scatter_add_(0, index, "
    "torch.ones_like(index))` with a fixed `n`",
    "repeat_interleave": "pass `output_size=`",
    "one_hot": "pass `num_classes=`",
    "combinations": "compute the index pairs once, in `__init__`",
    "lstsq": "use `torch.linalg.pinv(a) @ b`, or compute it outside the compiled function",
    "ctc_loss": "compute the loss outside the compiled function",
    "adaptive_softmax": "compute the loss outside the compiled function",
    "pack_sequence": "pad with `pad_sequence` and mask in place of packing",
    "pack_padded_sequence": _PACKING,
    "pad_packed_sequence": _PACKING,
    **dict.fromkeys(("nms", "batched_nms", "remove_small_boxes"), _BOXES),
    **dict.fromkeys((f"{name}_box_iou_loss" for name in ("generalized", "distance", "complete")), _OVERLAPS),
}

#: Layers that rest on them.
LAYERS = {"torch.nn.CTCLoss.forward": "ctc_loss", "torch.nn.AdaptiveLogSoftmaxWithLoss.forward": "adaptive_softmax"}

PACKAGES = (
    "torch", "torch.Tensor", "torch.nn.functional", "torch.linalg", "torch.nn.utils.rnn", "numpy", "torchvision.ops",
    "torchvision.ops.boxes", "torch.ops.torchvision",
)  # fmt: skip

BREAKS = (
    """\
import torch


def f(x):
    return x.repeat_interleave(torch.tensor([1, 2, 3, 1]), dim=0, output_size=None)  # GB0036
""",
    """\
import torch


def f(x):
    return torch.unique(x).sum()  # GB0036
""",
    """\
def f(x):
    return x.masked_select(x > 1).sum()  # GB0036
""",
    """\
def f(x):
    return x[0].long().bincount(minlength=3)  # GB0036
""",
    """\
import torch


def f(x):
    return torch.repeat_interleave(x, torch.tensor([1, 2, 3, 1]), dim=0)  # GB0036
""",
    """\
import torch.nn.functional as F


def f(x):
    return F.one_hot(x.long())  # GB0246
""",
    """\
import torch


def f(x):
    return torch.linalg.lstsq(x, torch.ones(4, 1)).solution  # GB0036
""",
    """\
import torch
import torch.nn.functional as F


def f(x):
    logits = x[:, None, :].log_softmax(-1)
    return F.ctc_loss(logits, torch.ones(1, 2, dtype=torch.long), (4,), (2,))  # GB0036
""",
    """\
import torch
from torch.nn.utils.rnn import pack_padded_sequence


def f(x):
    return pack_padded_sequence(x[None], torch.tensor([4]), batch_first=True).data  # GB0007
""",
    """\
# torch >=2.13
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def f(packed):
    rows, lengths = pad_packed_sequence(packed, batch_first=True)  # GB0007
    return rows * 2


def graphdoctor_target():
    return f, (pack_padded_sequence(torch.rand(2, 3, 8), torch.tensor([3, 2]), batch_first=True),)
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.loss = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10])

    def forward(self, x):
        return self.loss(x, torch.arange(4)).loss  # GB0036
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.loss = nn.CTCLoss()

    def forward(self, x):
        return self.loss(x.log_softmax(-1)[:, None], torch.ones(1, 2, dtype=torch.long), (4,), (2,))  # GB0036
""",
)

CLEAN = (
    """\
import torch
from torch.nn.utils.rnn import pad_sequence


def f(x):
    return pad_sequence([x, x[:2]], batch_first=True) * 2
""",
    """\
import torch


def f(x):
    return torch.repeat_interleave(x, 2, dim=0)
""",
    """\
import torch


def f(x):
    return x.repeat_interleave(torch.tensor([1, 2, 3, 1]), dim=0, output_size=7)
""",
    """\
import torch.nn.functional as F


def f(x):
    return F.one_hot(x.long(), num_classes=4)
""",
    """\
import torch.nn.functional as F


def f(x):
    return F.one_hot(x.long(), 4)
""",
    """\
def f(x):
    return x.masked_fill(x > 1, 0.0).sum()
""",
    """\
import torch


def f(x):
    return x.masked_scatter(x > 1, torch.rand(32))
""",
    """\
import torch


def f(x):
    return torch.histc(x, bins=4)
""",
    """\
import torch


def f(x):
    return torch.linalg.svd(x).S + torch.linalg.matrix_rank(x)
""",
    """\
import torch


def f(x):
    return torch.sort(x).values + torch.topk(x, 8).values + torch.cartesian_prod(x[0, :2], x[1, :2]).sum()
""",
    """\
import torch


def f(x):
    return torch.nn.utils.rnn.pad_sequence([x[0], x[1, :3]])
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.loss = nn.CrossEntropyLoss(reduction="none")

    def forward(self, x):
        return self.loss(x, torch.arange(4)).sum()
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.softmax = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10])

    def forward(self, x):
        return self.softmax.log_prob(x)
""",
)


def watches(name: str) -> bool:
    package, _, last = name.rpartition(".")
    return name in LAYERS or (package in PACKAGES and last in SUGGESTIONS)


def check_call(event: Call) -> Hit | None:
    layer = LAYERS.get(event.qualname)
    name = layer or event.qualname.rpartition(".")[2]
    operands = (event.receiver, *event.args) if event.receiver is not None and layer is None else event.args
    if not operands or not _holds_data(event, name, operands[0]) or not _depends_on_data(name, operands, event.kwargs):
        return None
    packs = "pack" in name
    what = (
        f"{code(event)} is not traced by Dynamo" if packs else f"the output shape of {code(event)} depends on the data"
    )
    return Hit(
        event,
        what,
        SUGGESTIONS[name],
        certainty(event, operands[0]),
        consequence=consequence(event),
    )


def _holds_data(event: Call, name: str, value: Value) -> bool:
    # It takes what packing gave, and nothing else.
    if name == "pad_packed_sequence":
        return True
    if event.qualname.startswith("numpy.") and isinstance(value, Seq):
        # Of a list numpy makes an array first, which is a tensor in the graph.
        return True
    return holds_tensor(value) if name == "pack_sequence" else takes_tensor(event, value)


def _depends_on_data(name: str, operands: tuple[Value, ...], kwargs: dict[str, Value]) -> bool:
    if name == "repeat_interleave":
        repeats = kwargs.get("repeats", operands[1] if len(operands) > 1 else operands[0])
        return may_be_tensor(repeats) and kwargs.get("output_size", NONE) == NONE
    if name == "adaptive_softmax":
        # A call without a target is one of another layer that may stand there.
        return len(operands) + len(kwargs) > 1
    if name == "one_hot":
        return kwargs.get("num_classes", operands[1] if len(operands) > 1 else Const(-1)) == Const(-1)
    return True


def recorded_by(hit: Hit, editor: Editor) -> str:
    return shape_setting(hit, editor)


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    if isinstance(hit.place, cst.Call) and called(hit.place) == "one_hot":
        return Refusal("How many classes there are depends on data; give `num_classes`, which also fixes the shape.")
    if isinstance(hit.place, cst.Call) and called(hit.place) == "lstsq":
        return least_squares(hit, editor)
    plan = first_fit(
        hit,
        editor,
        give_size,
        select_by_position,
        reduce_masked,
        reduce_selected,
        scatter_selected,
        loop_over_all_sorted,
        loop_over_all_rows,
        count_kept,
        count_into,
        count_distinct,
    )
    if isinstance(plan, FixPlan):
        return plan
    captured = first_fit(hit, editor, capture_shapes)
    # Where nothing fits, it helps most to know why not even the setting does; or that the size may be given.
    is_repeat = isinstance(hit.place, cst.Call) and called(hit.place) == "repeat_interleave"
    return plan if is_repeat and isinstance(captured, Refusal) else captured
