"""A checkpoint is saved from the compiled wrapper.

What: `torch.save(model.state_dict(), ...)`, `accelerator.save` or `save_file` of safetensors, also with the state dict
inside a dict, where `model` is the result of `torch.compile`, of `accelerate.utils.compile_regions`, or of the
`prepare` of an `Accelerator` that compiles. `unwrap_model` keeps the compiled wrapper by default.

Why: All keys begin with `_orig_mod.`, or hold it, so `load_state_dict` of the uncompiled model raises. A file whose
code mentions `_orig_mod` is taken to deal with it; so is one that imports such a file, or beside which such a file lies
that imports the same module of the project; and one that loads a state into the compiled model, unless it loads the
same file into the plain model too. After `model.compile()` the keys are the usual ones.

Fix: Save `model._orig_mod.state_dict()`, or compile in place with `model.compile()`. `compile_regions` leaves the model
that it is given as it is: save the state of that.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import Operation, TrackedObject, Use, compiling_setup, dotted, same_run, unwrapped

from ._shared import code, deals_with_prefix

CODE = "GD618"
NAME = "state-dict-of-compiled"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import io

import torch
import torch.nn as nn

model = torch.compile(nn.Linear(8, 8), backend="eager")
torch.save({"model": model.state_dict(), "epoch": 1}, io.BytesIO())  # flagged


def f(x):
    return x * 2
""",
    """\
import io

import torch
import torch.nn as nn


class Trainer:
    def __init__(self, model):
        self.model = torch.compile(model, backend="eager")

    def checkpoint(self, epoch):
        return {"epoch": epoch, "model": self.model.state_dict()}

    def save(self, file):
        torch.save(self.checkpoint(1), file)  # flagged


Trainer(nn.Linear(8, 8)).save(io.BytesIO())


def f(x):
    return x * 2
""",
    """\
import torch


def main(net, path):
    from accelerate.utils import compile_regions

    model = compile_regions(net)
    torch.save(model.state_dict(), path)  # flagged


def f(x):
    return x * 2
""",
    """\
import torch


def main(net, path):
    from accelerate import Accelerator

    accelerator = Accelerator()
    model = accelerator.prepare(torch.compile(net))
    # Takes away what it added, and no _orig_mod.
    accelerator.save(accelerator.unwrap_model(model).state_dict(), path)  # flagged


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch


def resume(net, path):
    model = torch.compile(net)
    model.load_state_dict(torch.load(path))
    return model


def main(net, path):
    model = resume(net, path)
    torch.save(model.state_dict(), path)


def f(x):
    return x * 2
""",
    """\
import torch


def main(net, path):
    from accelerate.utils import compile_regions

    model = compile_regions(net)
    torch.save(net.state_dict(), path)
    return model


def f(x):
    return x * 2
""",
    """\
import io

import torch
import torch.nn as nn

model = nn.Linear(8, 8)
compiled = torch.compile(model, backend="eager")
torch.save(model.state_dict(), io.BytesIO())


def f(x):
    return x * 2
""",
    """\
import io

import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        return x * 2


model = Net()
model.compile(backend="eager")
torch.save(model.state_dict(), io.BytesIO())


def f(x):
    return x * 2
""",
    """\
import torch


def main(net, path):
    from accelerate import Accelerator

    accelerator = Accelerator()
    model = accelerator.prepare(torch.compile(net))
    inner = accelerator.unwrap_model(model, keep_torch_compile=False)
    accelerator.save(inner.state_dict(), path)


def f(x):
    return x * 2
""",
)


_LOADS = ("torch.load", "safetensors.torch.load_file")
_SAVES = ("torch.save", "safetensors.torch.save_file", "safetensors.torch.save")


def check_use(event: Use) -> Hit | None:
    step = event.step
    by_accelerator = (
        step.name == ".save" and step.receiver is not None and step.receiver.made_by.endswith("Accelerator")
    )
    saved = step.argument(0, "obj", "tensors") if step.name in _SAVES or by_accelerator else None
    if saved is None:
        return None
    for state in (saved, *(value for _, value in saved.entries), *event.objects.get(saved.number, {}).values()):
        wrapper = _wrapper(state)
        sure = same_run(wrapper.path, step.path, "likely") if wrapper is not None else None
        if wrapper is not None and sure and not (_is_loaded_alike(event, state, wrapper) or deals_with_prefix(event)):
            where = "some keys hold" if wrapper.name == _REGIONS else "all keys begin with"
            words = f"{code(event)} saves the state of the compiled wrapper: {where} `_orig_mod.`"
            advice = f"save `{_named(state)}._orig_mod.state_dict()`, or compile in place: `model.compile()`"
            if _made_by(state, ".unwrap_model"):
                advice = "unwrap with `keep_torch_compile=False`"
            if wrapper.name == _REGIONS:
                advice = "save the state of the model that `compile_regions` was given, which keeps its keys"
            return Hit(event, words, advice, sure)
    return None


_REGIONS = "accelerate.utils.compile_regions"


def _is_loaded_alike(event: Use, state: TrackedObject, wrapper: Operation) -> bool:
    """Whether the program loads a state into a compiled wrapper, whose keys are the same, other than one it kept.

    A file that is also loaded into a plain model of the class has the wrong keys in one of the two places.
    """
    model = state.maker.receiver if state.maker is not None else None
    kind = unwrapped(model).made_by if model is not None else ""
    loads = [step for step in event.log if step.name == ".load_state_dict" and not _is_kept(_loaded(step))]
    plain = {_file(_loaded(step)) for step in loads if _loads_plain(step, wrapper, kind)} - {None}
    if _path(event.step.argument(1, "f", "filename")) in plain:
        return False
    wrapped = [step for step in loads if step.receiver is not None and _compiles(step.receiver) is not None]
    return any(_file(_loaded(step)) not in plain for step in wrapped)


def _loads_plain(step: Operation, wrapper: Operation, kind: str) -> bool:
    """Whether a load is surely one into a plain model of a class, in runs that make the wrapper."""
    model = step.receiver
    plain = model is not None and not model.unsure and model.made_by == kind and _compiles(model) is None
    return plain and bool(kind) and same_run(wrapper.path, step.path, "likely") is not None


def _loaded(load: Operation) -> TrackedObject | None:
    return load.argument(0, "state_dict")


def _file(state: TrackedObject | None) -> object:
    """What stands for the file that a state, or the dict that holds it, was loaded from; None where it is not seen."""
    while state is not None and state.maker is None:
        state = state.owner
    if state is None or state.made_by not in _LOADS or state.maker is None:
        return None
    return _path(state.maker.argument(0, "f", "filename"))


def _path(path: TrackedObject | None) -> object:
    """What stands for a path, wherever it is used: its text, or the number of the object."""
    if path is None:
        return None
    return path.value if isinstance(path.value, str) else path.number or None


def _is_kept(state: TrackedObject | None) -> bool:
    """Whether a state comes from a ``state_dict()`` of this program, and from no file."""
    made = state.maker if state is not None else None
    if made is not None and made.name == "copy.deepcopy":
        return _is_kept(made.argument(0, "x"))
    return made is not None and made.name == ".state_dict"


def _wrapper(state: TrackedObject) -> Operation | None:
    """What compiled the module whose ``state_dict()`` is saved, where nothing wraps or unwraps it."""
    model = state.maker.receiver if state.maker is not None and state.made_by == ".state_dict" else None
    # What fabric.setup gives has the keys of the model inside.
    return None if model is None or any(s.name.startswith(".setup") for s in model.steps) else _compiles(model)


def _named(state: TrackedObject) -> str:
    """How the program calls the object whose ``state_dict()`` it is."""
    node = state.maker.node if state.maker is not None else None
    func = node.func if isinstance(node, cst.Call) else None
    return (dotted(func.value) if isinstance(func, cst.Attribute) else "") or "model"


def _made_by(state: TrackedObject, name: str) -> bool:
    model = state.maker.receiver if state.maker is not None else None
    return model is not None and model.find(name) is not None


def _compiles(model: TrackedObject) -> Operation | None:
    own = model.find("torch.compile", _REGIONS)
    return own or next((step for step in model.steps if compiling_setup(step)), None)
