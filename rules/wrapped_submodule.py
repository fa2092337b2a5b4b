"""Compiled wrappers stand inside a model, and change the names in its state dict.

What: `nn.ModuleList([torch.compile(layer) for layer in layers])`, `nn.Sequential` or `nn.ModuleDict` of compiled
modules, `model.layers[i] = torch.compile(model.layers[i])`, and `self.encoder = torch.compile(self.encoder)` in a
module, also where `encoder` is an argument of its constructor. Of a model whose class is not known, `model.encoder =
torch.compile(model.encoder)` where the program saves or loads its state after that. Not of a module without
parameters, buffers and submodules, such as a loss.

Why: `torch.compile(module)` gives a wrapper that holds the module as `_orig_mod`: the keys become
`layers.0._orig_mod.weight`, and a checkpoint of the uncompiled model does not load.
`accelerate.utils.compile_regions` does the same. Compiling in place keeps the keys.

Fix: `for layer in model.layers: layer.compile()`.
"""

from __future__ import annotations

import re

import libcst as cst

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import MISSING, Store, TrackedObject, Use, compiled, same_run, unwrapped

from ._shared import code, deals_with_prefix, is_module

CODE = "GD617"
NAME = "wrapped-submodule"
SEVERITY = "info"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch
import torch.nn as nn

layers = nn.ModuleList([torch.compile(nn.Linear(8, 8), backend="eager") for _ in range(2)])  # flagged


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn

model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
for i in range(2):
    model[i] = torch.compile(model[i], backend="eager")  # flagged


def f(x):
    return x * 2
""",
    """\
import torch


def compiled(layer):
    return torch.compile(layer)


def main(model):
    for i in range(2):
        model.layers[i] = compiled(model.layers[i])  # flagged


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(8, 8)

    def prepare(self):
        self.encoder = torch.compile(self.encoder, backend="eager")  # flagged

    def forward(self, x):
        return self.encoder(x)


Net().prepare()


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch


def g(x):
    return x + 1


steps = [g, g]
for i in range(2):
    steps[i] = torch.compile(steps[i], backend="eager")


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn

model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
for layer in model:
    layer.compile(backend="eager")


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn

model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
variants = {}
variants["default"] = torch.compile(model, backend="eager")


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn


def g(x):
    return x + 1


steps = [torch.compile(each, backend="eager") for each in (g,)]


def f(x):
    return x * 2
""",
    """\
from abc import ABC

import torch
import torch.nn as nn


class Pipeline(ABC):
    def __init__(self, names):
        self.parts = self.load(names)

    def load(self, names):
        return {name: nn.Linear(8, 8) for name in names}

    def compile(self, name):
        part = self.parts[name]
        self.parts[name] = torch.compile(part, backend="eager")


pipeline = Pipeline(["encoder"])
pipeline.compile("encoder")


def f(x):
    return x * 2
""",
    """\
# torch >=2.9
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(8, 8)
        self.loss = torch.nn.functional.mse_loss

    def prepare(self):
        self.loss = torch.compile(self.loss, backend="eager")

    def forward(self, x):
        return self.encoder(x)


Net().prepare()


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn


class Pipeline:
    def __init__(self):
        self.encoder = nn.Linear(8, 8)


pipeline = Pipeline()
pipeline.encoder = torch.compile(pipeline.encoder, backend="eager")


def f(x):
    return x * 2
""",
)


_CONTAINERS = ("torch.nn.ModuleList", "torch.nn.Sequential", "torch.nn.ModuleDict")


def check_use(event: Use) -> Hit | None:
    step = event.step
    if step.name not in _CONTAINERS:
        return None
    held = [item for arg in step.args for item in (arg, *arg.items, *(value for _, value in arg.entries))]
    wrapped = [item for item in held if item.find("torch.compile") and not _is_stateless(event, unwrapped(item))]
    return _hit(event) if wrapped else None


def check_store(event: Store) -> Hit | None:
    made = compiled(event.tracked)
    wrapped = made.argument(0, "model") if made is not None else None
    container = event.container
    if wrapped is None or _is_stateless(event, wrapped):
        return None
    if not isinstance(event.target, cst.Subscript):
        if container is None or not event.target.deep_equals(wrapped.node):
            return None
        child = is_module(container) and (is_module(wrapped) or _is_given(event.target, wrapped))
        return _hit(event) if child or (_is_part(wrapped) and _is_saved(event, container)) else None
    if container is None or container.items or container.entries or _is_plain_object(event.holder):
        # A list or dict of the program's own is no part of a model.
        return None
    # What is compiled is the element itself, so the container is one of modules.
    same = wrapped.owner is not None and wrapped.owner.number == container.number != 0
    return _hit(event) if same or event.target.deep_equals(wrapped.node) else None


#: Modules that others hold, by their names: what is compiled may also be a method of the holder.
_PART = re.compile(
    r"\.(\w+_)?(model|module|net|network|backbone|encoder|decoder|unet|transformer|tower|head|vae|blocks?|layers?)"
)

#: What gives the state of a module, or takes it.
_STATES = (".state_dict", ".load_state_dict")


def _is_part(wrapped: TrackedObject) -> bool:
    """Whether a part of an object of which nothing is known is surely a module."""
    return wrapped.is_unknown_part and _PART.fullmatch(wrapped.name) is not None


def _is_given(target: cst.BaseExpression, wrapped: TrackedObject) -> bool:
    """Whether a module keeps under the name of a part what its constructor was given, of which nothing is known."""
    told = wrapped.maker or wrapped.code or wrapped.owner
    known = told is not None or wrapped.value is not MISSING
    return not known and isinstance(target, cst.Attribute) and _PART.fullmatch(f".{target.attr.value}") is not None


def _is_saved(event: Store, container: TrackedObject) -> bool:
    """Whether the state of the model that has the container is saved or loaded after the store."""
    model = container
    while model.is_unknown_part and model.maker is None and _PART.fullmatch(model.name) and model.owner is not None:
        model = model.owner
    pretrained = model.made_by.startswith("transformers.") and model.made_by.endswith(".from_pretrained")
    names = (*_STATES, *_SAVES) if pretrained else _STATES
    return model.number != 0 and any(
        step.name in names
        and step.receiver is not None
        and step.receiver.number == model.number
        and same_run(event.path, step.path, "likely") is not None
        for step in event.log[event.position :]
    )


#: Methods of models of transformers, which save ``state_dict()`` as it is.
_SAVES = (".save_pretrained", ".push_to_hub")


def _is_plain_object(holder: TrackedObject | None) -> bool:
    """Whether its class is in the scanned code and is no module."""
    kind = holder.made_of if holder is not None else None
    return kind is not None and not any(root.endswith("Module") or "." not in root for root in kind.roots)


#: How a class gives its objects a state, other than by a line of the constructor.
_GIVES_STATE = re.compile(r"\bnn\.(?!functional\b)|\bParameter\b|\bregister_|\badd_module\b|\bsetattr\b")


def _is_stateless(event: Use | Store, module: TrackedObject) -> bool:
    """Whether a module surely has no parameter, buffer or submodule, and so no keys in a state dict."""
    kind = module.made_of
    if kind is None or {base.name for base in kind.bases} != {"torch.nn.Module"}:
        return False
    parts = event.objects.get(module.number)
    if parts is None and kind.method("__init__") is not None:
        return False
    _, _, body = kind.module.code(kind.node).partition("\n")
    return _GIVES_STATE.search(body) is None and all(map(_is_number, (parts or {}).values()))


def _is_number(part: TrackedObject) -> bool:
    """Whether an attribute is a literal, or computed of others."""
    return part.value is not MISSING or isinstance(part.node, (cst.BinaryOperation, cst.UnaryOperation, cst.Comparison))


def _hit(event: Use | Store) -> Hit | None:
    if deals_with_prefix(event):
        return None
    words = f"{code(event)} puts a wrapper into the model: keys of its state dict get `_orig_mod`"
    return Hit(event, words, "compile in place: `layer.compile()`")
