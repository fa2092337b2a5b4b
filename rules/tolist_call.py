"""`.tolist()` takes Python numbers out of a tensor.

What: A call of `Tensor.tolist()` in compiled code.

Why: The graph ends here: the numbers depend on data. A list of integers passes `fullgraph=True` (they become
symbols); a list of floats or bools never does.

Fix: Index or iterate over the tensor itself, which Dynamo unrolls; pass sizes such as the argument of
`torch.split` to the model as Python lists; convert in the code that calls the model.
"""

from __future__ import annotations

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.forms.span_bounds import keep_bounds
from graphdoctor.fixes.python.buffers import read_once
from graphdoctor.fixes.python.capture import capture_numbers, number_setting
from graphdoctor.fixes.rows.counted_experts import loop_over_all_counted
from graphdoctor.fixes.rows.routed_rows import loop_over_all_rows
from graphdoctor.fixes.rows.segments import attend_once
from graphdoctor.fixes.tensors.conversions import keep_list
from graphdoctor.fixes.tensors.number_lists import stay_numbers
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.value_functions import may_be_tensor, tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence

CODE = "GD212"
NAME = "tolist-call"
SEVERITY = "error"
GB_IDS = ("GB0033", "GB0109")
TORCH = ">=2.6"

BREAKS = (
    """\
def f(x):
    first = x.mean(0).tolist()[0]  # GB0109
    return x + first
""",
    """\
# torch >=2.10
def f(x):
    column = x.argmax(-1).tolist()[0]  # GB0033
    return x + column
""",
    """\
# torch >=2.10
import torch


def f(x, sizes):
    top, rest = torch.split(x, sizes.tolist())  # GB0033
    return rest


def graphdoctor_target():
    return f, (torch.rand(4, 8), torch.tensor([1, 3]))
""",
)

CLEAN = (
    """\
def f(x):
    return x + x.mean(0)[0]
""",
    """\
import torch


def f(x):
    top, rest = torch.split(x, [1, 3])
    return rest
""",
    """\
def f(x):
    return x.reshape(list(x.shape)[::-1])
""",
    """\
def f(x):
    total = 0
    for row in x:
        total = total + row.sum()
    return total
""",
    """\
def f(x):
    rows = list(x)
    return rows[0] + rows[-1]
""",
)


def watches(name: str) -> bool:
    return name == "torch.Tensor.tolist"


def check_call(event: Call) -> Hit | None:
    if event.receiver is None or not may_be_tensor(event.receiver):
        return None
    tensor = tensor_of(event.receiver)
    passes = tensor is not None and tensor.dtype == "int"
    return Hit(
        event,
        f"{code(event)} converts tensor data to Python numbers",
        "index or iterate over the tensor itself, or pass the numbers to the model as a Python list"
        + ("; `fullgraph=True` accepts integers" if passes else ""),
        certainty(event, event.receiver),
        torch=">=2.10" if passes else "",
        consequence=consequence(event),
    )


def recorded_by(hit: Hit, editor: Editor) -> str:
    return number_setting(hit, editor)


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    plan = first_fit(hit, editor, loop_over_all_rows, loop_over_all_counted, attend_once)
    receiver = hit.event.receiver if isinstance(hit.event, Call) else None
    tensor = tensor_of(receiver) if receiver is not None else None
    if isinstance(plan, FixPlan):
        return plan
    if tensor is not None and tensor.unbacked:
        return Refusal("How many numbers there are depends on data, and compiled code has to know how long a list is.")
    return first_fit(hit, editor, keep_list, stay_numbers, read_once, keep_bounds, capture_numbers)
