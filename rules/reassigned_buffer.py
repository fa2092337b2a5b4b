"""An `nn.Buffer` is assigned to itself unchanged.

What: `self.table = self.table.to(x.device)` in compiled code, where `self.table` was made with `nn.Buffer`; the
same with `contiguous`, `cpu`, `cuda` and `type_as`.

Why: Where there is nothing to convert, the call gives the same buffer back. To register it again, the module
reads whether it is persistent, which Dynamo cannot trace: the graph ends there, and `fullgraph=True` fails.

Fix: Keep the result in a local variable, `table = self.table.to(x.device)`: the module itself is moved by
`model.to(device)`, its buffers with it. Or make the buffer with `self.register_buffer("table", ...)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import libcst as cst

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.forms.moved_buffers import keep_in_local
from graphdoctor.static.domain.events import SetAttr
from graphdoctor.static.domain.torch_tables import dtype_of
from graphdoctor.static.domain.value_functions import is_tensor, options
from graphdoctor.static.domain.values import Function, Instance
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

from ._shared import certainty, code, consequence

CODE = "GD512"
NAME = "reassigned-buffer"
SEVERITY = "error"
GB_IDS = ("GB4841",)
TORCH = ">=2.11"

#: Methods that give the tensor itself where there is nothing to do.
SAME = ("to", "contiguous", "cpu", "cuda", "type_as")

BREAKS = (
    """\
# torch >=2.11
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Buffer(torch.ones(8), persistent=False)

    def forward(self, x):
        self.table = self.table.to(device=x.device, dtype=x.dtype)  # GB4841
        return x + self.table
""",
    """\
# torch >=2.11
import torch
from torch.nn import Buffer, Module


class Net(Module):
    def __init__(self):
        super().__init__()
        self.table = Buffer(torch.ones(8))

    def forward(self, x):
        self.table = self.table.contiguous()  # GB4841
        return x + self.table
""",
)

CLEAN = (
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Buffer(torch.ones(8))

    def forward(self, x):
        table = self.table.to(x.device)
        self.table = self.table + 1.0
        return x + table
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.ones(8))

    def forward(self, x):
        self.table = self.table.to(x.device)
        return x + self.table
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Buffer(torch.ones(8))

    def forward(self, x):
        self.table = self.table.to(torch.float64)
        return x + self.table
""",
)


def check_setattr(event: SetAttr) -> Hit | None:
    if not isinstance(event.receiver, Instance) or not is_tensor(event.value):
        return None
    if not _converted(event) or not _names_buffers(event.receiver):
        return None
    init = event.receiver.info.lookup("__init__")
    if not any(isinstance(o, Function) and event.name in _buffers(o) for o in options(init or event.value)):
        return None
    return Hit(
        event,
        f"{code(event)} is an `nn.Buffer` that is assigned to itself unchanged",
        f"keep it in a local variable, or make it with `self.register_buffer({event.name!r}, ...)`",
        certainty(event),
        consequence=consequence(event),
    )


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    return first_fit(hit, editor, keep_in_local)


def _names_buffers(receiver: Instance) -> bool:
    """Whether a file that its class comes from names the class of buffers at all: hardly any does."""
    return any(_has_buffers(known.module.source.text) for known in receiver.info.mro)


@lru_cache(maxsize=64)
def _has_buffers(text: str) -> bool:
    return "Buffer" in text


def _converted(event: SetAttr) -> bool:
    """Whether what is stored is a conversion of what is there, to no dtype that is written out."""
    statement = event.site.statement
    for node in walk(statement):
        if isinstance(node, cst.Assign) and any(target.target is event.node for target in node.targets):
            made = node.value
            return (
                isinstance(made, cst.Call)
                and isinstance(made.func, cst.Attribute)
                and made.func.attr.value in SAME
                and made.func.value.deep_equals(event.node)
                and not any(_is_dtype(arg.value) for arg in made.args)
            )
    return False


def _is_dtype(node: cst.BaseExpression) -> bool:
    if not isinstance(node, cst.Attribute) or not isinstance(node.value, cst.Name):
        return False
    return node.value.value == "torch" and dtype_of(node.attr.value) is not None


def _buffers(function: Function) -> Iterator[str]:
    """The attributes that a constructor makes with ``nn.Buffer``."""
    for node in walk(function.info.body):
        if isinstance(node, cst.Assign) and isinstance(node.value, cst.Call):
            func = node.value.func
            name = (
                func.attr.value if isinstance(func, cst.Attribute) else func.value if isinstance(func, cst.Name) else ""
            )
            if name == "Buffer":
                yield from (t.target.attr.value for t in node.targets if isinstance(t.target, cst.Attribute))
