"""A setting of matrix products and convolutions in compiled code.

What: `torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = ...` and its twin for fp16, which raise when
they change something; `allow_fp16_accumulation` and `fp32_precision` (of `torch.backends.cuda.matmul`, of
`torch.backends.cudnn.conv` and `.rnn`), since torch 2.9.

Why: Dynamo checks after each frame that the global state is as it was, and does not expect tracing to change these two
reductions. The other settings are objects with methods written in C, at which it splits the graph. `allow_tf32`,
`torch.backends.cudnn.benchmark`, `deterministic` and `torch.set_float32_matmul_precision` are traced.

Fix: Set it once, where the program starts.
"""

from __future__ import annotations

from graphdoctor.static.domain.events import SetAttr
from graphdoctor.static.domain.values import External
from graphdoctor.static.rule import Hit

from ._shared import certainty, code, consequence

CODE = "GD518"
NAME = "matmul-setting"
SEVERITY = "error"
GB_IDS = ("GB0007",)
TORCH = ">=2.6"

_MATMUL = "torch.backends.cuda.matmul"
RAISING = ("allow_bf16_reduced_precision_reduction", "allow_fp16_reduced_precision_reduction")
SPLITTING = frozenset({
    f"{_MATMUL}.allow_fp16_accumulation", f"{_MATMUL}.fp32_precision", "torch.backends.cudnn.conv.fp32_precision",
    "torch.backends.cudnn.rnn.fp32_precision",
})  # fmt: skip
_ADVICE = "set it once, where the program starts"

BREAKS = (
    """\
import torch


def f(x):
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False  # raises
    return x @ x.t()
""",
    """\
# torch >=2.9
import torch


def f(x):
    torch.backends.cuda.matmul.allow_fp16_accumulation = True  # GB0007
    return x @ x.t()
""",
)

CLEAN = (
    """\
import torch


def f(x):
    torch.backends.cuda.matmul.allow_tf32 = True
    return x @ x.t()
""",
    """\
import torch


def f(x):
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.deterministic = False
    return x @ x.t()
""",
    """\
import torch


def f(x):
    torch.set_float32_matmul_precision("high")
    return x @ x.t()
""",
    """\
# torch >=2.10
import torch

torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = True


def f(x):
    if torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction:
        return x * 2
    return x @ x.t()
""",
)


def check_setattr(event: SetAttr) -> Hit | None:
    if not isinstance(event.receiver, External):
        return None
    if event.receiver.qualname == _MATMUL and event.name in RAISING:
        return Hit(
            event, f"{code(event)} raises when it is compiled and changes the setting", _ADVICE, certainty(event)
        )
    if f"{event.receiver.qualname}.{event.name}" not in SPLITTING:
        return None
    return Hit(
        event, f"{code(event)} is not traced", _ADVICE, certainty(event), torch=">=2.9", consequence=consequence(event)
    )
