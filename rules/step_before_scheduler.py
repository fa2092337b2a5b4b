"""The optimizer's step is compiled before the scheduler is made.

What: `optimizer.step = torch.compile(optimizer.step)` and after it a scheduler of `torch.optim.lr_scheduler` for that
optimizer.

Why: A scheduler wraps `optimizer.step` and needs a bound method for that; the compiled one is a function, so the
constructor raises AttributeError.

Fix: Make the scheduler first, or compile a function that calls `optimizer.step()`.
"""

from __future__ import annotations

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import Use, compiled, same_run

from ._shared import code

CODE = "GD614"
NAME = "step-before-scheduler"
SEVERITY = "error"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch
import torch.nn as nn

optimizer = torch.optim.Adam(nn.Linear(2, 2).parameters(), lr=torch.tensor(1e-3))
optimizer.step = torch.compile(optimizer.step, backend="eager")
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)  # raises


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch
import torch.nn as nn

optimizer = torch.optim.Adam(nn.Linear(2, 2).parameters(), lr=torch.tensor(1e-3))
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)
optimizer.step = torch.compile(optimizer.step, backend="eager")


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn

optimizer = torch.optim.Adam(nn.Linear(2, 2).parameters(), lr=torch.tensor(1e-3))
other = torch.optim.Adam(nn.Linear(2, 2).parameters(), lr=torch.tensor(1e-3))
optimizer.step = torch.compile(optimizer.step, backend="eager")
scheduler = torch.optim.lr_scheduler.StepLR(other, step_size=2)


def f(x):
    return x * 2
""",
)


def check_use(event: Use) -> Hit | None:
    step = event.step
    optimizer = step.argument(0, "optimizer")
    if not step.name.startswith("torch.optim.lr_scheduler.") or optimizer is None or optimizer.unsure:
        return None
    replaced = optimizer.find(".step=")
    if replaced is None or compiled(replaced.args[0]) is None:
        return None
    sure = same_run(replaced.path, step.path)
    words = (
        f"{code(event)} raises AttributeError: `optimizer.step` is compiled already, and a scheduler wraps the method"
    )
    return sure and Hit(event, words, "make the scheduler before `optimizer.step` is compiled", sure)
