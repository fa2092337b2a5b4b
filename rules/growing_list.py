"""A list grows in every call of compiled code.

What: `append`, `extend` or `insert` on a list that outlives the call: an attribute of the module, a global, or an item
of one. Lists that are emptied or bound again somewhere in the file are left out.

Why: Dynamo guards on the length of the list, so each call finds another length and compiles again; after 8
compilations (`torch._dynamo.config.recompile_limit`) the function runs uncompiled. `dynamic=True` does not help.
After a break, up to the end of the function, where nothing is computed, nothing is compiled, and nothing is said.

Fix: Return the value and collect it in the code that calls the model; or keep the last ones in a tensor buffer of fixed
size.
"""

from __future__ import annotations

from functools import lru_cache

import libcst as cst

from graphdoctor.static.domain.events import Grow
from graphdoctor.static.rule import Hit
from graphdoctor.syntax.walk import walk

from ._resumed import computes_nothing
from ._shared import code, stays_eager

CODE = "GD702"
NAME = "growing-list"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.means = []

    def forward(self, x):
        self.means.append(x.mean().detach())  # flagged
        return x * 2
""",
    """\
HISTORY = []


def f(x):
    HISTORY.append(x.mean())  # flagged
    return x * 2
""",
    """\
import torch

history = {"loss": [], "size": []}


@torch.compile(backend="eager")
def f(x):
    history["loss"].append(x.sum())  # flagged
    return x * 2


for _ in range(4):
    f(torch.rand(4, 8))
""",
)

CLEAN = (
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.means = []

    def forward(self, x):
        self.means = []
        self.means.append(x.mean())
        return x * 2
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.means = []

    def forward(self, x):
        means = [x.mean()]
        means.append(x.sum())
        self.means = means
        return x * 2
""",
    """\
def f(x):
    means = []
    for row in x:
        means.append(row.mean())
    return sum(means)
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(()))

    def forward(self, x):
        self.last.copy_(x.mean())
        return x * 2
""",
)

#: Methods after which a list is shorter.
SHORTENERS = frozenset({"clear", "pop", "popleft", "remove"})


def check_grow(event: Grow) -> Hit | None:
    name = _last_name(event.container)
    if name in _emptied(event.site.module.tree) or stays_eager(event) or computes_nothing(event):
        return None
    return Hit(
        event,
        f"{code(event)} makes a list longer in every call, and every call is compiled again, up to the recompile limit",
        "return the value, and collect it in the code that calls the compiled function",
        "likely",
    )


@lru_cache(maxsize=1)
def _emptied(tree: cst.Module) -> frozenset[str | None]:
    """The names of lists that the file empties or binds anew, other than where they are first made."""
    emptied: set[str | None] = set()
    bound: set[str | None] = set()
    for node in walk(tree):
        if type(node) is cst.Call and type(node.func) is cst.Attribute and node.func.attr.value in SHORTENERS:
            emptied.add(_last_name(node.func.value))
        elif type(node) is cst.AssignTarget or type(node) is cst.AnnAssign:
            name = _last_name(node.target)
            # An item that is bound may be a new list in a table.
            (emptied if name in bound or type(node.target) is cst.Subscript else bound).add(name)
        elif type(node) is cst.Del:
            emptied.update(_last_name(inner) for inner in walk(node))
    return frozenset(emptied)


def _last_name(node: cst.CSTNode) -> str | None:
    if isinstance(node, cst.Subscript):
        return _last_name(node.value)
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else None
