"""`fullgraph=True` for the step of an optimizer.

What: `torch.compile(optimizer.step, fullgraph=True)` on an optimizer of `torch.optim`, and a function or lambda that
does nothing but call `step` and is compiled with `fullgraph=True`.

Why: The step has a graph break of its own in torch, and raises when it is first called. Without `fullgraph` its
arithmetic is one graph, and nothing is lost.

Fix: Leave `fullgraph` out.
"""

from __future__ import annotations

from graphdoctor.static.domain.events import Call
from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import Use

from ._shared import certainty, code
from ._updates import is_update

CODE = "GD616"
NAME = "fullgraph-optimizer-step"
SEVERITY = "error"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch
import torch.nn as nn

optimizer = torch.optim.Adam(nn.Linear(2, 2).parameters())
optimizer.step = torch.compile(optimizer.step, fullgraph=True)  # flagged


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch
import torch.nn as nn

optimizer = torch.optim.Adam(nn.Linear(2, 2).parameters())
optimizer.step = torch.compile(optimizer.step)


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn

optimizer = torch.optim.Adam(nn.Linear(2, 2).parameters())
update = torch.compile(lambda: optimizer.step())


def f(x):
    return x * 2
""",
    """\
import torch


def main(machine):
    return torch.compile(machine.step, fullgraph=True)


def f(x):
    return x * 2
""",
)


def check_use(event: Use) -> Hit | None:
    step = event.step
    compiled = step.argument(0, "model") if step.name == "torch.compile" else None
    if compiled is None or compiled.name != ".step" or compiled.owner is None or step.option("fullgraph") is not True:
        return None
    if compiled.owner.unsure or not compiled.owner.made_by.startswith("torch.optim."):
        return None
    return Hit(
        event,
        f"{code(event)} raises when it is called: the step of an optimizer breaks the graph",
        "leave `fullgraph` out",
    )


def watches(name: str) -> bool:
    return name.startswith("torch.optim.") and name.endswith(".step")


def check_call(event: Call) -> Hit | None:
    """A step in a function that only takes steps, which is fine without ``fullgraph=True``."""
    if event.site.entering or not event.site.compiled or not is_update(event):
        return None
    return Hit(
        event,
        f"{code(event)} raises with `fullgraph=True`: the step of an optimizer breaks the graph",
        "leave `fullgraph` out",
        certainty(event),
        gb_ids=("GB0025",),
        only_fullgraph=True,
    )
