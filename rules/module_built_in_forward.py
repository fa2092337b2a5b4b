"""A layer or parameter is created, or its dtype changed, in the forward pass.

What: `nn.Linear(...)` and other layers with weights, `nn.Parameter` of a new tensor, `module.half()`,
`module.to(torch.bfloat16)` in compiled code. Layers without weights (`nn.ReLU()`, losses) are fine.

Why: Dynamo does not trace the creation of parameters: the graph would have to own them. Weights initialised in
each call are also never trained, as no optimizer knows them.

Fix: Build layers and parameters in `__init__`, with `nn.LazyLinear` where a size is not known yet. Convert
modules before compiling; convert tensors with `x.to(dtype)` or use `torch.autocast`.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.forms.gradients import plain_constant
from graphdoctor.fixes.python.layers import build_in_init, layer_in_init
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Const, Instance, Tensor, TorchModule, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence

CODE = "GD504"
NAME = "module-built-in-forward"
SEVERITY = "error"
GB_IDS = ("GB0264",)
TORCH = ">=2.6"
SETUP = True

#: Layers of ``torch.nn`` that make parameters; norms do so unless told not to.
WEIGHTED = frozenset((
    "Linear", "Bilinear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
    "Embedding", "EmbeddingBag", "LayerNorm", "RMSNorm", "GroupNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d",
    "MultiheadAttention", "LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell", "PReLU", "Transformer",
    "TransformerEncoderLayer", "TransformerDecoderLayer", "TransformerEncoder", "TransformerDecoder",
))  # fmt: skip

NARROW_DTYPES = ("half", "bfloat16", "double", "float16", "float64")

BREAKS = (
    """\
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        lin = nn.Linear(8, 8)  # GB0264
        return lin(x)
""",
    """\
# torch >=2.9
import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        scale = nn.Parameter(torch.ones(8))  # GB0264
        return x * scale
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = None

    def forward(self, x):
        if self.norm is None:
            self.norm = nn.LayerNorm(x.shape[-1])  # GB0264
        return self.norm(x)
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        return self.lin.half()(x.half())  # GB0264
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        return self.lin.to(torch.bfloat16)(x.bfloat16())  # GB0264
""",
)

CLEAN = (
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        return self.lin(x)
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        return nn.Sequential(nn.ReLU(), nn.Dropout(0.1))(x)
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        return nn.CrossEntropyLoss()(x, x) + nn.MSELoss()(x, x)
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        norm = nn.LayerNorm(8, elementwise_affine=False)
        return norm(x)
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(8))

    def forward(self, x):
        return x * self.scale
""",
    """\
# torch >=2.13
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        return self.lin.to(x.device)(x.half().float())
""",
    """\
# torch >=2.6,!=2.9,!=2.10
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mask", None)

    def forward(self, x):
        self.mask = torch.ones(8)
        return x * self.mask
""",
    """\
import torch.nn as nn


def default(value, other):
    if value is not None:
        return value
    return other() if not isinstance(other, nn.Module) and callable(other) else other


class Net(nn.Module):
    def __init__(self, layer=None):
        super().__init__()
        self.layer = default(layer, lambda: nn.Linear(8, 8))

    def forward(self, x):
        return self.layer(x)
""",
    """\
import inspect
import torch.nn as nn


def layer_of(kind):
    if inspect.isfunction(kind):
        return kind()
    if inspect.isclass(kind):
        return kind(8, 8)
    return kind


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = layer_of(lambda: nn.Linear(8, 8))
        self.built = layer_of(nn.Linear(8, 8))

    def forward(self, x):
        return self.lin(self.built(x))
""",
)


def watches(name: str) -> bool:
    last = name.rpartition(".")[2]
    return last in ("Parameter", "to", "half", "bfloat16", "double") or last in WEIGHTED


def check_call(event: Call) -> Hit | None:
    package, _, name = event.qualname.rpartition(".")
    of_torch = package == "torch.nn" or package.startswith("torch.nn.modules") or package == "torch.nn.parameter"
    if of_torch and name == "Parameter" and event.args and any(_made_here(o) for o in options(event.args[0])):
        return _hit(event, "makes a parameter", "make it in `__init__`; a constant needs no `nn.Parameter`")
    if of_torch and name in WEIGHTED and not _without_weights(event.kwargs):
        return _hit(
            event, "builds a layer with weights", "build it in `__init__` (`nn.LazyLinear` where a size is unknown)"
        )
    if _changes_dtype(event, name):
        return _hit(
            event, "changes the dtype of a module", "convert the module before compiling, or use `torch.autocast`"
        )
    return None


def _hit(event: Call, what: str, suggestion: str) -> Hit:
    return Hit(
        event, f"{code(event)} {what} in compiled code", suggestion, certainty(event), consequence=consequence(event)
    )


def _made_here(value: Value) -> bool:
    """A new tensor; wrapping an argument in ``nn.Parameter`` is traced."""
    return isinstance(value, Tensor) and not value.argument and not value.owned


def _without_weights(kwargs: dict[str, Value]) -> bool:
    return kwargs.get("elementwise_affine") == Const(False) or kwargs.get("affine") == Const(False)


def _changes_dtype(event: Call, name: str) -> bool:
    receiver = event.receiver
    if not isinstance(receiver, TorchModule) and not (isinstance(receiver, Instance) and receiver.info.is_module):
        return False
    if name in ("half", "bfloat16", "double"):
        return True
    return name == "to" and isinstance(event.node, cst.Call) and any(_is_narrow(arg) for arg in event.node.args)


def _is_narrow(arg: cst.Arg) -> bool:
    """``torch.bfloat16`` spelled out; the dtype of a tensor is most often the one that the module has."""
    return isinstance(arg.value, cst.Attribute) and arg.value.attr.value in NARROW_DTYPES


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    function = editor.function_of(hit.place)
    if function is not None and function.name.value == "__init__":
        return Refusal("It belongs to a module: make the module before the compiled code, and pass it in.")
    return first_fit(hit, editor, plain_constant, build_in_init, layer_in_init)
