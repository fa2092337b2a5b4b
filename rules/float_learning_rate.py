"""A learning rate that changes is a Python number in the compiled step.

What: An optimizer made with a number as `lr` (or none), a scheduler for it, and then `optimizer.step =
torch.compile(optimizer.step)`.

Why: The number is a constant of the graph. When the scheduler changes it, the step is compiled once more, with a
symbol in its place; a tensor is an input. Without a scheduler a number is fine and is not reported.

Fix: `lr=torch.tensor(1e-3)`.
"""

from __future__ import annotations

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import Store, compiled

from ._shared import code

CODE = "GD615"
NAME = "float-learning-rate"
SEVERITY = "info"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch
import torch.nn as nn

optimizer = torch.optim.Adam(nn.Linear(2, 2).parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)
optimizer.step = torch.compile(optimizer.step, backend="eager")  # flagged


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

optimizer = torch.optim.Adam(nn.Linear(2, 2).parameters(), lr=1e-3)
optimizer.step = torch.compile(optimizer.step, backend="eager")


def f(x):
    return x * 2
""",
)


def check_store(event: Store) -> Hit | None:
    made = compiled(event.tracked)
    step = made.argument(0, "model") if made is not None else None
    optimizer = step.owner if step is not None and step.name == ".step" else None
    made_by = optimizer.maker if optimizer is not None else None
    if optimizer is None or made_by is None or not made_by.name.startswith("torch.optim."):
        return None
    rate = made_by.argument(1, "lr")
    scheduled = any(s.name.startswith("torch.optim.lr_scheduler.") for s in optimizer.steps)
    if not scheduled or (rate is not None and not isinstance(rate.value, (int, float))):
        return None
    words = (
        f"{code(event)}: the learning rate is a Python number, so the step compiles again when the scheduler changes it"
    )
    return Hit(event, words, "pass `lr=torch.tensor(...)` to the optimizer", "likely")
