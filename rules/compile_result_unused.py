"""The result of `torch.compile` is thrown away.

What: `torch.compile(model)` as a statement of its own.

Why: `torch.compile` returns a compiled wrapper and leaves its argument as it is. The program goes on with the
uncompiled model, without any message.

Fix: Use the result, `model = torch.compile(model)`, or compile in place with `model.compile()`.
"""

from __future__ import annotations

from graphdoctor.static.domain.events import Compile
from graphdoctor.static.rule import Hit

from ._shared import code

CODE = "GD601"
NAME = "compile-result-unused"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch
import torch.nn as nn

model = nn.Linear(8, 8)
torch.compile(model, backend="eager")  # flagged


def f(x):
    return model(x)
""",
)

CLEAN = (
    """\
import torch
import torch.nn as nn

model = nn.Linear(8, 8)
model = torch.compile(model, backend="eager")


def f(x):
    return model(x)
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        return x * 2


model = Net()
model.compile(backend="eager")


def f(x):
    return model(x)
""",
    """\
import torch


@torch.compile(backend="eager")
def f(x):
    return x * 2
""",
    """\
import torch


def f(x):
    return x * 2


def compiled():
    return torch.compile(f, backend="eager")
""",
)


def check_compile(event: Compile) -> Hit | None:
    if event.form != "call" or event.used:
        return None
    return Hit(
        event,
        f"the result of {code(event)} is not used, so nothing is compiled",
        "write `model = torch.compile(model)`, or compile in place with `model.compile()`",
    )
