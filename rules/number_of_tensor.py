"""A tensor is converted to a Python number.

What: `int(t)`, `float(t)`, `bool(t)`, `complex(t)`, `round(t)` and the functions of `math` on a tensor.

Why: Each of them reads the tensor's contents on the host, which ends the graph, and on a GPU waits for the
device. `int` and `float` pass `fullgraph=True` (the number becomes a symbol); the functions of `math` do not.

Fix: Use the tensor as it is, and torch's functions in place of those of `math`: `torch.sqrt(t)`, `t.floor()`.
Comparisons give tensors; select with `torch.where`.
"""

from __future__ import annotations

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.forms.filled_spans import fill_span
from graphdoctor.fixes.forms.span_bounds import keep_bounds
from graphdoctor.fixes.python.buffers import read_once
from graphdoctor.fixes.python.capture import capture_numbers, number_setting
from graphdoctor.fixes.python.eager_only import guard_shown
from graphdoctor.fixes.tensors.conversions import keep_tensor, torch_math
from graphdoctor.fixes.tensors.number_lists import stay_numbers
from graphdoctor.fixes.tensors.number_or_default import number_or_default
from graphdoctor.fixes.tensors.rounds import first_of_branch, keep_looping, run_all_rounds
from graphdoctor.static.domain.events import Convert
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence

CODE = "GD214"
NAME = "number-of-tensor"
SEVERITY = "error"
GB_IDS = ("GB0124", "GB0033", "GB0059")
TORCH = ">=2.6"

SUGGESTIONS = {
    "int": "keep the value a tensor; `t.long()` truncates on the device",
    "float": "keep the value a 0-d tensor; arithmetic with it needs no conversion",
    "bool": "keep the comparison a tensor and select with `torch.where`",
    "complex": "use `torch.complex` or `t.to(torch.complex64)`",
    "math": "use the function of torch of the same name",
    "round": "use `torch.round`",
}

BREAKS = (
    """\
def f(x):
    return x * float(x.max())  # GB0124
""",
    """\
def f(x):
    count = int((x > 0).sum())  # GB0124
    return x / count
""",
    """\
def f(x):
    positive = bool((x > 0).all())  # GB0124
    return x * 2
""",
    """\
import math


def f(x):
    return x / math.sqrt(x.var())  # GB0033
""",
    """\
def f(x):
    z = complex(x.sum())  # GB0059
    return x * 2
""",
    """\
def f(x):
    try:
        count = int(x.sum())  # GB0124
    except ValueError:
        count = 0
    return x + count
""",
)

CLEAN = (
    """\
def f(x):
    return x * x.max()
""",
    """\
import torch


def f(x):
    return x / torch.sqrt(x.var())
""",
    """\
import math


def f(x):
    return x / math.sqrt(x.shape[-1])
""",
    """\
def f(x):
    half = int(x.shape[-1] / 2)
    return x[:, :half] * float(x.ndim)
""",
    """\
def f(x, p=0.5):
    return x * float(p) * int("3")
""",
    """\
def f(x):
    return abs(x) + round(2.5) + x.float() + x.int()
""",
    """\
import math


def f(x):
    return x * math.prod(x.shape) + math.ceil(x.size(0) / 3)
""",
)


def check_convert(event: Convert) -> Hit | None:
    tensor = tensor_of(event.value)
    if tensor is None or tensor.numpy or event.to not in SUGGESTIONS:
        return None
    return Hit(
        event,
        f"{code(event)} converts tensor data to a Python number",
        SUGGESTIONS[event.to],
        certainty(event, event.value),
        consequence=consequence(event),
    )


def recorded_by(hit: Hit, editor: Editor) -> str:
    # A function of `math` asks the tensor for its number in a way that no setting records.
    of_math = isinstance(hit.event, Convert) and hit.event.to == "math"
    return "" if of_math else number_setting(hit, editor)


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    plan = first_fit(hit, editor, stay_numbers, fill_span, keep_bounds, guard_shown, number_or_default)
    return (
        plan
        if isinstance(plan, FixPlan)
        else first_of_branch(
            hit, editor, keep_tensor, torch_math, read_once, keep_looping, run_all_rounds, capture_numbers
        )
    )
