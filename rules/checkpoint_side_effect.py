"""A checkpointed function changes state outside of it.

What: Inside a function that is run by `torch.utils.checkpoint.checkpoint`, an attribute of an object is set to what the
function computes, a list or dict that outlives the call is changed, or a global variable is.

Why: Dynamo puts the function into the graph as one operator that is run a second time in the backward pass. What it
changes outside would be changed twice, so the graph ends at the `checkpoint`. Buffers may be written in place.

Fix: Return the value from the function, and store it after the call of `checkpoint`.
"""

from __future__ import annotations

from graphdoctor.static.domain.events import Event, Grow, SetAttr, SetItem
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Const, ExternalObject, Instance, PythonValue
from graphdoctor.static.rule import Hit

from ._shared import certainty, code, consequence, is_autograd_context

CODE = "GD516"
NAME = "checkpoint-side-effect"
SEVERITY = "error"
GB_IDS = ("GB0067",)
TORCH = ">=2.6"

BREAKS = (
    """\
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.hidden = None

    def block(self, x):
        self.hidden = self.layer(x)  # GB0067
        return self.hidden.relu()

    def forward(self, x):
        return checkpoint(self.block, x, use_reentrant=False)
""",
    """\
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, seen):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.seen = seen

    def forward(self, x):
        out = self.layer(x)
        self.seen["last"] = out  # GB0067
        return out


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = {}
        self.block = Block(self.seen)

    def forward(self, x):
        return checkpoint(self.block, x, use_reentrant=False)
""",
    """\
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.outputs = []

    def block(self, x):
        out = self.layer(x)
        self.outputs.append(out)  # GB0067
        return out

    def forward(self, x):
        return checkpoint(self.block, x, use_reentrant=False)
""",
    """\
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

CALLS = 0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def block(self, x):
        global CALLS
        CALLS += 1  # GB0067
        return self.layer(x)

    def forward(self, x):
        return checkpoint(self.block, x, use_reentrant=False)
""",
)

CLEAN = (
    """\
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.hidden = None

    def block(self, x):
        hidden = self.layer(x)
        return hidden.relu(), hidden

    def forward(self, x):
        x, self.hidden = checkpoint(self.block, x, use_reentrant=False)
        return x
""",
    """\
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.hidden = None

    def block(self, x):
        self.hidden = self.layer(x)
        return self.hidden.relu()

    def forward(self, x):
        return self.block(x)
""",
    """\
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def block(self, x):
        outputs, named = [], {}
        outputs.append(self.layer(x))
        named["last"] = outputs[-1]
        return named["last"]

    def forward(self, x):
        return checkpoint(self.block, x, use_reentrant=False)
""",
    """\
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.register_buffer("total", torch.zeros(8))

    def block(self, x):
        self.total.add_(1)
        return self.layer(x)

    def forward(self, x):
        return checkpoint(self.block, x, use_reentrant=False)
""",
    """\
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class State:
    def __init__(self, value):
        self.value = value


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def block(self, x):
        state = State(x)
        state.value = self.layer(x)
        return state.value

    def forward(self, x):
        return checkpoint(self.block, x, use_reentrant=False)
""",
)


def check_setattr(event: SetAttr) -> Hit | None:
    if not event.site.recomputed:
        return None
    is_global = event.receiver == ExternalObject("builtins.globals")
    plain = all(isinstance(option, (Const, PythonValue)) for option in options(event.value))
    # A plain number that an object gets ends the graph, too, but at the call of `checkpoint`.
    stays = any(
        isinstance(o, Instance) and not o.inside and not is_autograd_context(o) for o in options(event.receiver)
    )
    return _hit(event) if is_global or (stays and not plain) else None


def check_setitem(event: SetItem) -> Hit | None:
    return _hit(event) if event.site.recomputed else None


def check_grow(event: Grow) -> Hit | None:
    return _hit(event) if event.site.recomputed else None


def _hit(event: Event) -> Hit:
    statement = code(event, event.site.statement)
    return Hit(
        event,
        f"{statement} in a checkpointed function changes state outside of it",
        "return the value from the function, and store it after the call of `checkpoint`",
        certainty(event),
        consequence=consequence(event),
    )
