"""A tensor or a module is copied with `copy`.

What: `copy.deepcopy` of a tensor, a module or a container that holds one; `copy.copy` of tensors, modules, dicts,
lists and sets;
`dataclasses.asdict` and `astuple` of objects that hold tensors, and `dataclasses.fields` of a class.

Why: Copying goes through the object's internals (storages, `__reduce_ex__`), which Dynamo does not trace.
Plain Python data is fine.

Fix: `x.clone()` copies a tensor. Copy modules outside the compiled function; `torch.func.functional_call`
runs a module with other parameters. Read the fields of a dataclass by name.
"""

from __future__ import annotations

from graphdoctor.fixes.branches.choose import by_name
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.forms.copies import call_with_copies, clone_tensor, copied_items, plain_copy
from graphdoctor.fixes.python.hoist import hoist_constant
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.value_functions import holds_tensor, options, walk
from graphdoctor.static.domain.values import Class, Instance, Mapping, Seq, Tensor, TorchModule, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence

CODE = "GD401"
NAME = "deepcopy"
SEVERITY = "error"
GB_IDS = ("GB4198", "GB0208", "GB0007", "GB0180", "GB0008")
TORCH = ">=2.6"

BREAKS = (
    """\
import copy


def f(x):
    y = copy.deepcopy(x)  # GB4198
    return y * 2
""",
    """\
import copy

import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        twin = copy.deepcopy(self.lin)  # GB4198
        return twin(x)
""",
    """\
import copy


def f(x):
    y = copy.copy(x)  # GB0208
    return y * 2
""",
    """\
import copy


def f(x):
    outputs = copy.copy({"hidden": x})  # GB0007
    return outputs["hidden"]
""",
    """\
import dataclasses

import torch


@dataclasses.dataclass
class Output:
    logits: torch.Tensor


def f(x):
    return dataclasses.asdict(Output(x))["logits"]  # GB4198
""",
    """\
import dataclasses


@dataclasses.dataclass
class Config:
    scale: float = 2.0


def f(x):
    return x * len(dataclasses.fields(Config))  # GB0180
""",
    """\
import copy


def f(x):
    sizes = copy.copy([1, 2])  # GB0007
    return x * sizes[0]
""",
    """\
import copy

import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        twin = copy.copy(self.layer)  # GB0008
        return twin(x)
""",
)

CLEAN = (
    """\
def f(x):
    y = x.clone()
    return y * 2
""",
    """\
# torch >=2.13
import copy


def f(x):
    settings = copy.deepcopy({"scales": [1, 2]})
    return x * settings["scales"][0]
""",
    """\
import copy

import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)
        self.twin = copy.deepcopy(self.lin)

    def forward(self, x):
        return self.twin(x)
""",
    """\
# torch >=2.9
import dataclasses

import torch


@dataclasses.dataclass
class Output:
    logits: torch.Tensor


def f(x):
    return dataclasses.replace(Output(x), logits=x * 2).logits
""",
    """\
# torch >=2.13
import dataclasses


@dataclasses.dataclass
class Config:
    scale: float = 2.0


def f(x):
    return x * dataclasses.asdict(Config())["scale"]
""",
    """\
def f(x):
    outputs = {"hidden": x}
    copied = dict(outputs)
    return copied["hidden"]
""",
    """\
def f(x):
    rows = [x[0], x[1]]
    return rows.copy()[0]
""",
    """\
# torch >=2.13
import copy


def f(x):
    first, second = copy.copy((x, x + 1))
    return first * second
""",
    """\
# torch >=2.13
import copy


class Options:
    def __init__(self):
        self.scale = 2


OPTIONS = Options()


def f(x):
    options = copy.copy(OPTIONS)
    return x * options.scale
""",
)


def watches(name: str) -> bool:
    return name.rpartition(".")[0] in ("copy", "dataclasses")


def check_call(event: Call) -> Hit | None:
    if not event.args or not _breaks(event.qualname.rpartition(".")[2], event.args[0]):
        return None
    return Hit(
        event,
        f"{code(event)} copies or reads internals that Dynamo does not trace",
        "use `x.clone()` for a tensor; copy modules outside the compiled function"
        if event.qualname.startswith("copy.")
        else "read the fields by name, or convert outside the compiled function",
        certainty(event),
        consequence=consequence(event),
    )


def _breaks(name: str, value: Value) -> bool:
    if name in ("deepcopy", "asdict", "astuple"):
        return holds_tensor(value) or any(_is_module(v) for v in walk(value))
    if name == "copy":
        return any(isinstance(o, Tensor) or _is_container(o) or _is_module(o) for o in options(value))
    return name == "fields" and isinstance(value, Class)


def _is_container(value: Value) -> bool:
    """A dict, list or set. A tuple is its own copy, and an object is copied by its attributes: both are traced."""
    return isinstance(value, Mapping) or (isinstance(value, Seq) and value.kind in ("list", "set"))


def _is_module(value: Value) -> bool:
    return isinstance(value, TorchModule) or (isinstance(value, Instance) and value.info.is_module)


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    rewrites = (clone_tensor, call_with_copies, plain_copy)
    copied = hit.event.args[0] if isinstance(hit.event, Call) and hit.event.args else None
    own = {"deepcopy": copied_items} if isinstance(copied, (Seq, Mapping)) else {}
    return by_name(hit, editor, own, *rewrites, hoist_constant)
