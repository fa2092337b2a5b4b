"""An optimizer, scheduler or gradient scaler is used in compiled code.

What: `optimizer.step`, `zero_grad` and `state_dict`, `scheduler.step`, the methods of `GradScaler`, and
`clip_grad_norm_(..., error_if_nonfinite=True)`.

Why: torch itself puts a graph break into `Optimizer.step`, and wraps `zero_grad` and schedulers in profiling
hooks that are not traced. A training step compiled as a whole is several graphs.

Fix: Compile the forward pass and the loss; leave `zero_grad`, `backward`, clipping, `step` and the scheduler
in the training loop. The update alone can be compiled: `torch.compile(optimizer.step)`, or a function or lambda that
does nothing but call `step`, of which nothing is said here: torch breaks once in it, and compiles the update after
that.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.values import Const
from graphdoctor.static.rule import Hit

from ._shared import certainty, code, consequence
from ._updates import is_update

CODE = "GD507"
NAME = "optimizer-in-graph"
SEVERITY = "error"
GB_IDS = ("GB0025", "GB0008", "GB0007", "GB0170", "GB8335")
TORCH = ">=2.6"

OPTIMIZER_METHODS = ("step", "zero_grad", "state_dict", "load_state_dict")
SCALERS = ("torch.amp.GradScaler", "torch.cuda.amp.GradScaler", "torch.amp.grad_scaler.GradScaler")
CLIPPERS = ("torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad.clip_grad_norm_")

BREAKS = (
    """\
import torch


class State:
    pass


state = State()


def prepare():
    state.weight = torch.nn.Parameter(torch.ones(8))
    state.optimizer = torch.optim.SGD([state.weight], lr=0.1)


def f(x):
    state.optimizer.zero_grad()  # GB0008
    return x * state.weight


def graphdoctor_target():
    globals()["prepare"]()
    return f, (torch.rand(4, 8),)
""",
    """\
# torch >=2.9
import torch

weight = torch.nn.Parameter(torch.ones(8))
optimizer = torch.optim.SGD([weight], lr=0.1)


def f(x):
    optimizer.step()  # GB0025
    return x * weight
""",
    """\
import torch

weight = torch.nn.Parameter(torch.ones(8))
optimizer = torch.optim.AdamW([weight], lr=0.1)


def f(x):
    optimizer.zero_grad()  # GB0008
    return x * weight
""",
    """\
# torch >=2.9
import torch

weight = torch.nn.Parameter(torch.ones(8))
optimizer = torch.optim.SGD([weight], lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)


def f(x):
    optimizer.step()  # GB0007 GB0025
    scheduler.step()  # GB0008
    return x * weight
""",
    """\
import torch

scaler = torch.amp.GradScaler("cpu")


def f(x):
    return scaler.scale(x.sum())  # GB0008
""",
    """\
import torch

model = torch.nn.Linear(8, 8)


def f(x):
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)  # GB0170 GB8335
    return x * norm


def graphdoctor_target():
    model(torch.rand(4, 8)).sum().backward()
    return f, (torch.rand(4, 8),)
""",
)

CLEAN = (
    """\
class State:
    pass


class Clock:
    def zero_grad(self):
        return 0


state = State()
state.clock = Clock()


def f(x):
    return x + state.clock.zero_grad()
""",
    """\
import torch
import torch.nn.functional as F

model = torch.nn.Linear(8, 8)


def f(x):
    return F.mse_loss(model(x), x)
""",
    """\
# torch >=2.11
import torch

model = torch.nn.Linear(8, 8)


def f(x):
    return x * torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)


def graphdoctor_target():
    model(torch.rand(4, 8)).sum().backward()
    return f, (torch.rand(4, 8),)
""",
    """\
import torch

optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(8))], lr=0.1)


def f(x):
    for group in optimizer.param_groups:
        group["lr"] = 0.2
    return x * 2
""",
    """\
import torch

model = torch.nn.Linear(8, 8)


def f(x):
    model.zero_grad()
    return model(x)
""",
    """\
class Counter:
    def step(self):
        return 2


counter = Counter()


def f(x):
    return x * counter.step()
""",
    """\
import torch

weight = torch.nn.Parameter(torch.ones(8))
optimizer = torch.optim.SGD([weight], lr=0.1)
optimizer.zero_grad()


def f(x):
    return x * weight
""",
)


def watches(name: str) -> bool:
    return name.rpartition(".")[2] in OPTIMIZER_METHODS or name.rpartition(".")[0] in SCALERS or name in CLIPPERS


def check_call(event: Call) -> Hit | None:
    owner, _, method = event.qualname.rpartition(".")
    of_optimizer = method in OPTIMIZER_METHODS and (owner.startswith("torch.optim.") or _named_optimizer(event))
    strict_clip = event.qualname in CLIPPERS and event.kwargs.get("error_if_nonfinite") == Const(True)
    if (not of_optimizer and owner not in SCALERS and not strict_clip) or is_update(event):
        return None
    return Hit(
        event,
        f"{code(event)} belongs to the training loop, not to the graph",
        "compile the forward pass and the loss, and call it outside",
        "likely" if owner == "?" else certainty(event),
        consequence=consequence(event),
    )


def _named_optimizer(event: Call) -> bool:
    """True for an object nothing is known of whose name says what it is: ``state.optimizer``, ``self.opt``."""
    callee = event.node.func if isinstance(event.node, cst.Call) else None
    if not event.qualname.startswith("?.") or not isinstance(callee, cst.Attribute):
        return False
    name = callee.value.attr if isinstance(callee.value, cst.Attribute) else callee.value
    return isinstance(name, cst.Name) and name.value.lstrip("_") in ("opt", "optim", "optimizer")
