"""A recurrent layer of torch is called.

What: A call of `nn.LSTM`, `nn.GRU` or `nn.RNN`, of a subclass of one, or of their methods (`flatten_parameters`) in
compiled code, or a setting or weight of one that is read there (`self.rnn.num_layers`, `self.rnn.weight_hh_l0`), or
the layer itself (`rnn = self.rnn`, `isinstance(self.rnn, nn.LSTM)`). Also what goes through the parameters or layers
of a model until it comes to one (`list(self.parameters())`, `next(self.parameters())` where it is the first layer),
and methods that call each layer in it (`self.encoder.eval()`, `self.zero_grad()`).

Why: Dynamo refuses to trace these layers (`torch._dynamo.config.allow_rnn` is off, because unrolling them
makes compilation slow). What the calling function did before is compiled, and the rest of it runs uncompiled; in a
loop all of it does. The cuDNN kernel is fast as it is.

Fix: Compile the parts before and after the layer as modules of their own; or set
`torch._dynamo.config.allow_rnn = True` (inference on short sequences; training of an LSTM fails with it on
torch 2.13); or loop over `nn.LSTMCell`, which is traced.
"""

from __future__ import annotations

from typing import TypeGuard

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.python.capture import trace_recurrent
from graphdoctor.model.consequence import Consequence
from graphdoctor.static.domain.events import Call, GetAttr
from graphdoctor.static.domain.held_objects import children, submodules
from graphdoctor.static.domain.torch_tables import RECURRENT, is_recurrent_layer
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Instance, Tensor, TorchModule, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find, walk

from ._shared import certainty, code, leaves_function

CODE = "GD502"
NAME = "rnn-module"
SEVERITY = "error"
GB_IDS = ("GB0014",)
TORCH = ">=2.6"
ENDS_FUNCTION = "<2.15"

#: Versions on which reading the layer breaks the graph; on later ones only reading an attribute of it does.
_READING_BREAKS = "<2.15"

#: Methods that give what is in a module one by one: as long as they are read, they go on.
_WALKS = frozenset(
    f"{prefix}{items}" for prefix in ("", "named_") for items in ("parameters", "buffers", "modules", "children")
)

#: Methods that call themselves on each layer in a module, or go through all of its parameters.
_OF_ALL = frozenset(
    {"apply", "bfloat16", "cpu", "cuda", "double", "eval", "float", "half", "load_state_dict", "requires_grad_"}
    | {"share_memory", "state_dict", "to", "train", "type", "zero_grad"}
)

#: A method that only these layers have, of an object nothing is known of: ``getattr(nn, kind)(...)``.
_OF_ANY_LAYER = "?.flatten_parameters"

BREAKS = (
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(8, 8)

    def forward(self, x):
        y, state = self.rnn(x)  # GB0014
        return y * 2
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(8, 8)

    def forward(self, x):
        return self.rnn(x)[0]  # GB0014
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8), nn.RNN(8, 8)])

    def forward(self, x):
        x = self.layers[0](x)
        return self.layers[1](x)[0]  # GB0014
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(8, 8, 4)

    def forward(self, x):
        state = x.new_zeros((self.rnn.num_layers, 8))  # GB0014
        return x + state
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, kind="lstm"):
        super().__init__()
        self.rnn = getattr(nn, kind.upper())(8, 8)

    def forward(self, x):
        self.rnn.flatten_parameters()  # GB0014
        return x * 2
""",
    """\
# torch <2.15
import torch
import torch.nn as nn


class Recurrent(nn.LSTM):
    def forward(self, x):
        y, state = super().forward(x)  # GB0014
        return y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = Recurrent(8, 8)

    def forward(self, x):
        return self.rnn(x + 1) * 2  # GB0014


def graphdoctor_target():
    return Net(), (torch.rand(4, 8),)
""",
    """\
# torch <2.15
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.GRU(8, 8)
        self.second = nn.GRU(8, 8)

    def forward(self, x):
        state = x.new_zeros((self.first.num_layers, 8))  # GB0014
        self.first.flatten_parameters()
        x, state = self.first(x, state)
        return self.second(x)[0]
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(8, 8)

    def forward(self, x):
        x = x + 1
        if isinstance(self.rnn, nn.LSTM):  # GB0014
            x = x * 2
        return x
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, kind="lstm", depth=2):
        super().__init__()
        if kind == "lstm":
            self.layers = [nn.LSTM(8, 8) for _ in range(depth)]
        if kind == "gru":
            self.layers = [nn.GRU(8, 8) for _ in range(depth)]
        self.layers = nn.ModuleList(self.layers)

    def forward(self, x):
        return self.layers[0](x)[0]  # GB0014
""",
    """\
# torch >=2.11
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, kind=None):
        super().__init__()
        self.rnn = nn.GRU(8, 8)
        self.kind = kind

    def scan(self, x):
        if self.rnn.dropout:  # GB0014
            raise NotImplementedError("no dropout")
        for _ in range(self.rnn.num_layers):
            x = x * self.rnn.hidden_size
        return x

    def forward(self, x):
        return x + 1 if self.kind == "other" else self.scan(x) * 2


def graphdoctor_target():
    import torch

    return Net(), (torch.rand(4, 8),)
""",
    """\
# torch !=2.9,!=2.10
import torch.nn as nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.GRU(8, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        x = x.to(next(self.parameters()).dtype)  # GB0014
        return self.head(x)


def graphdoctor_target():
    import torch

    return Tagger(), (torch.rand(4, 8),)
""",
)

CLEAN = (
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(8, 8, 4)
        self.num_layers = self.rnn.num_layers

    def forward(self, x):
        return x + x.new_zeros((self.num_layers, 8))
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(8, 8)

    def forward(self, x):
        hidden, cell = self.cell(x)
        return hidden
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(8, 8)

    def forward(self, x):
        return self.cell(x)
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(8, 8)
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        return self.lin(x)
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, batch_first=True)

    def forward(self, x):
        return self.layer(x[None])
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def flatten_parameters(self):
        self.scale = 2

    def forward(self, x):
        self.flatten_parameters()
        return x * self.scale
""",
    """\
import torch
import torch.nn as nn


class Cell(nn.LSTMCell):
    def forward(self, x):
        hidden, cell = super().forward(x)
        return hidden


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = Cell(8, 8)

    def forward(self, x):
        return self.cell(x + 1) * 2


def graphdoctor_target():
    return Net(), (torch.rand(4, 8),)
""",
    """\
import torch
import torch.nn as nn


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden_size = 8
        self.cell = nn.LSTMCell(8, 8)

    def forward(self, x):
        state = (x.new_zeros((4, self.hidden_size)), x.new_zeros((4, self.hidden_size)))
        outputs = []
        for step in range(x.shape[1]):
            state = self.cell(x[:, step], state)
            outputs.append(state[0])
        return torch.stack(outputs, dim=1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = LSTM()

    def forward(self, x):
        return self.rnn(x)


def graphdoctor_target():
    return Net(), (torch.rand(4, 3, 8),)
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(8, 8)
        self.is_lstm = isinstance(self.rnn, nn.LSTM)

    def forward(self, x):
        return x * 2 if self.is_lstm else x
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(8, 8)

    def forward(self, x):
        cell = self.cell
        return cell(x)[0]
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, kind="linear", depth=2):
        super().__init__()
        layers = [nn.Linear(8, 8) for _ in range(depth)]
        if kind == "cell":
            layers = [nn.GRUCell(8, 8) for _ in range(depth)]
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
""",
    """\
# torch >=2.9
import torch.nn as nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 2)
        self.encoder = nn.GRU(8, 8)

    def forward(self, x):
        # The first parameter is found before the recurrent layer.
        x = x.to(next(self.parameters()).dtype)
        return self.head(x)


def graphdoctor_target():
    import torch

    return Tagger(), (torch.rand(4, 8),)
""",
)


#: Builtins that look at the layer they are given. A loop over a list of layers hands one on without a look.
_LOOKS = frozenset({"builtins.isinstance", "builtins.type"})


def watches(name: str) -> bool:
    return name in _LOOKS or not name.startswith(("builtins.", "torch.Tensor."))


def check_call(event: Call) -> Hit | None:
    if event.qualname in _LOOKS:
        return _look(event)
    if _meets_recurrent(event):
        return Hit(
            event,
            f"{code(event)} goes through a recurrent layer, which Dynamo does not trace",
            "call it outside the compiled code, keep what is needed of it in `__init__`, take a device or dtype from "
            "an input (`x.device`), or set `torch._dynamo.config.allow_rnn = True`",
            "likely" if event.site.conditional else "certain",
            torch=_READING_BREAKS if event.qualname.endswith("children") else "",
            consequence=leaves_function(event),
        )
    called = [o.qualname for o in options(event.receiver) if isinstance(o, TorchModule)] if event.receiver else []
    recurrent = is_recurrent_layer(event.qualname) or any(map(is_recurrent_layer, called))
    if not recurrent and event.qualname != _OF_ANY_LAYER:
        return None
    # `nn.LSTM.forward` is the call of the layer, `nn.LSTM.flatten_parameters` one of its methods.
    is_method = event.qualname.rpartition(".")[2] not in ("forward", *RECURRENT)
    return Hit(
        event,
        f"{code(event)} calls {'a method of ' if is_method else ''}a recurrent layer, which Dynamo does not trace",
        "compile the parts around it separately, or set `torch._dynamo.config.allow_rnn = True`",
        certainty(event),
        consequence=_cost(event),
    )


def _look(event: Call) -> Hit | None:
    """``isinstance(layer, nn.LSTM)``; of ``isinstance(self.rnn, nn.LSTM)`` the reading of the attribute is judged."""
    looks_at = event.node.args[0].value if isinstance(event.node, cst.Call) and event.node.args else None
    named = isinstance(looks_at, (cst.Name, cst.Subscript))
    if not named or not event.args or not any(map(_is_recurrent, options(event.args[0]))):
        return None
    return Hit(
        event,
        f"{code(event)} looks at a recurrent layer, which Dynamo does not trace",
        "keep in `__init__` what it tells, and compile the parts around the layer separately",
        certainty(event),
        consequence=_cost(event),
    )


def _meets_recurrent(event: Call) -> bool:
    """Whether ``self.parameters()``, ``self.eval()`` or the like comes to a recurrent layer, as far as it is read."""
    owner, _, method = event.qualname.rpartition(".")
    if owner != "torch.nn.Module" or not isinstance(event.receiver, Instance):
        return False
    if method in _OF_ALL:
        return any(map(_is_recurrent, submodules(event.receiver)))
    if method not in _WALKS or event.kwargs:
        return False
    found = list((children if "children" in method else submodules)(event.receiver))
    if not _reads_one(event):
        return any(map(_is_recurrent, found))
    owns = any(isinstance(value, Tensor) and value.owned for value in event.receiver.attrs.values())
    first = next((module for module in found if not isinstance(module, Instance)), None)
    return not owns and "modules" not in method and first is not None and _is_recurrent(first)


def _is_recurrent(module: Value) -> bool:
    return isinstance(module, TorchModule) and is_recurrent_layer(module.qualname)


def _reads_one(event: Call) -> bool:
    """Whether only the first item is read: ``next(self.parameters())``, or a loop that may be left."""
    statement = event.site.statement
    if isinstance(statement, cst.For) and statement.iter is event.node:
        return any(isinstance(node, (cst.Return, cst.Break)) for node in walk(statement.body))
    read = (node.args[0].value for node in walk(statement) if _calls(node, "next"))
    return any(event.node is (node.args[0].value if _calls(node, "iter") else node) for node in read)


def _calls(node: cst.CSTNode, name: str) -> TypeGuard[cst.Call]:
    """Whether ``node`` calls the builtin ``name`` with something."""
    return (
        isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == name and bool(node.args)
    )


def check_getattr(event: GetAttr) -> Hit | None:
    layers = [o.qualname for o in options(event.receiver) if isinstance(o, TorchModule)]
    reads = any(map(is_recurrent_layer, layers)) and not _is_called(event)
    if not reads and not _hands_on(event):
        return None
    return Hit(
        event,
        f"{code(event)} reads a recurrent layer, which Dynamo does not trace",
        "keep what it reads in `__init__`, and compile the parts around the layer separately",
        certainty(event),
        torch=_READING_BREAKS if not reads and _is_compared(event) else "",
        consequence=_cost(event),
    )


def _hands_on(event: GetAttr) -> bool:
    """Whether it reads the layer itself, and neither calls it nor asks it for anything, which is judged as such."""
    held = event.receiver.attrs.get(event.name) if isinstance(event.receiver, Instance) else None
    if not isinstance(held, TorchModule) or not is_recurrent_layer(held.qualname):
        return False
    return not _is_called(event) and not _is_asked(event)


def _is_compared(event: GetAttr) -> bool:
    """Whether it is only asked which object it is: ``self.rnn is not None``."""
    return any(
        type(node.comparisons[0].operator) in (cst.Is, cst.IsNot)
        for node in find(event.site.statement, cst.Comparison)
        if node.left is event.node
    )


def _is_called(event: GetAttr) -> bool:
    return any(isinstance(node, cst.Call) and node.func is event.node for node in walk(event.site.statement))


def _is_asked(event: GetAttr) -> bool:
    """Whether an attribute of what is read is read: that is judged as such."""
    return any(isinstance(node, cst.Attribute) and node.value is event.node for node in walk(event.site.statement))


def _cost(event: Call | GetAttr) -> Consequence:
    if event.site.whole_frame:
        return Consequence("whole", event.site.whole_frame.function)
    return Consequence("rest", event.site.function)


def recorded_by(_hit: Hit, _editor: Editor) -> str:
    return "allow_rnn"


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    return trace_recurrent(hit, editor)
