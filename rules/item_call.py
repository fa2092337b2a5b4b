"""`.item()` takes a number out of a tensor.

What: A call of `Tensor.item()` in compiled code.

Why: The graph ends here, because by default Dynamo does not record numbers that depend on data; on a GPU the
call also waits for the device. With `torch.compile(fullgraph=True)` (torch 2.10 or later) or
`torch._dynamo.config.capture_scalar_outputs = True` the number is kept as a symbol, and the same call is no
break until something reads its value.

Fix: Leave the value a 0-d tensor: `x * t.max()` needs no `.item()`. Convert in the code that calls the model.
If a Python number is needed (a size), set `torch._dynamo.config.capture_scalar_outputs = True`.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.branches.branch import branch_of
from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.branches.init_flags import take_as_set
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.forms.filled_spans import fill_span
from graphdoctor.fixes.forms.span_bounds import keep_bounds
from graphdoctor.fixes.loops.layer_drop import skip_layer
from graphdoctor.fixes.python.buffers import read_once
from graphdoctor.fixes.python.capture import capture_numbers, number_setting
from graphdoctor.fixes.python.eager_only import guard_shown
from graphdoctor.fixes.rows.experts import loop_over_all
from graphdoctor.fixes.rows.routed_rows import loop_over_all_rows
from graphdoctor.fixes.tensors.conversions import keep_tensor
from graphdoctor.fixes.tensors.number_lists import stay_numbers
from graphdoctor.fixes.tensors.number_or_tensor import either_goes_on
from graphdoctor.fixes.tensors.rounds import first_of_branch, keep_looping, run_all_rounds
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.value_functions import may_be_tensor
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

from ._shared import certainty, code, consequence

CODE = "GD211"
NAME = "item-call"
SEVERITY = "error"
GB_IDS = ("GB0124",)
TORCH = ">=2.6"

BREAKS = (
    """\
def f(x):
    return x / x.abs().max().item()  # GB0124
""",
    """\
def f(x):
    if x.max().item() > 1.0:  # GB0124
        x = x / 2
    return x
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.tensor(0.5))

    def forward(self, x):
        return x * self.scale.item()  # GB0124
""",
    """\
def f(x):
    return x + max([row.max().item() for row in x])  # GB0124
""",
)

CLEAN = (
    """\
def f(x):
    return x / x.abs().max()
""",
    """\
import torch


def f(x):
    return torch.where(x.max() > 1.0, x / 2, x)
""",
    """\
def f(x):
    scales = {"a": 2.0, "b": 3.0}
    for name, scale in scales.items():
        x = x * scale
    return x
""",
    """\
class Box:
    def item(self):
        return 2.0


def f(x):
    return x * Box().item()
""",
    """\
import torch


def f(x):
    if not torch.compiler.is_compiling():
        assert x.max().item() < 1e6
    return x * 2
""",
    """\
def f(x):
    return x * x.shape[0] + x.numel()
""",
)


def watches(name: str) -> bool:
    return name == "torch.Tensor.item"


def check_call(event: Call) -> Hit | None:
    if event.receiver is None or not may_be_tensor(event.receiver):
        return None
    return Hit(
        event,
        f"{code(event)} converts tensor data to a Python number",
        _ELSEWHERE if _decides(event) else _KEEP,
        certainty(event, event.receiver),
        consequence=consequence(event),
    )


_KEEP = (
    "keep the value as a 0-d tensor, pass sizes as arguments, or set "
    "`torch._dynamo.config.capture_scalar_outputs = True`"
)
#: A recorded number would still have to be known where a branch asks for it.
_ELSEWHERE = "decide with `torch.where`, or outside the compiled code: a branch on the number ends the graph anyway"


def _decides(event: Call) -> bool:
    """Whether the number is part of the test of a branch or loop."""
    statement = event.site.statement
    return isinstance(statement, (cst.If, cst.While)) and any(node is event.node for node in walk(statement.test))


def recorded_by(hit: Hit, editor: Editor) -> str:
    return number_setting(hit, editor)


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    constant = (read_once,) if branch_of(hit.place, editor) is not None else ()
    plan = first_fit(hit, editor, stay_numbers, fill_span, keep_bounds, guard_shown, *constant)
    if isinstance(plan, FixPlan):
        return plan
    return first_of_branch(
        hit,
        editor,
        keep_tensor,
        either_goes_on,
        read_once,
        take_as_set,
        keep_looping,
        run_all_rounds,
        skip_layer,
        loop_over_all,
        loop_over_all_rows,
        capture_numbers,
    )
