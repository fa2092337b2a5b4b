"""A checkpoint is saved from the compiled wrapper.

What: `torch.save(model.state_dict(), ...)`, also with the state dict inside a dict, where `model` is the result of
`torch.compile`.

Why: All keys begin with `_orig_mod.`, so `load_state_dict` of the uncompiled model raises. A file that mentions
`_orig_mod` is taken to deal with it. After `model.compile()` the keys are the usual ones.

Fix: Save `model._orig_mod.state_dict()`, or compile in place with `model.compile()`.
"""

from __future__ import annotations

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage import Step, Thing, Use, together

from ._shared import code

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
)

CLEAN = (
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

model = nn.Linear(8, 8)
model.compile(backend="eager")
torch.save(model.state_dict(), io.BytesIO())


def f(x):
    return x * 2
""",
)


def check_use(event: Use) -> Hit | None:
    saved = event.step.argument(0, "obj")
    if event.step.name != "torch.save" or saved is None or "_orig_mod" in event.site.module.text:
        return None
    for state in (saved, *(value for _, value in saved.entries)):
        wrapper = _wrapper(state)
        sure = together(wrapper.path, event.step.path, "likely") if wrapper is not None else None
        if sure:
            words = f"{code(event)} saves the state of the compiled wrapper: all keys begin with `_orig_mod.`"
            return Hit(
                event, words, "save `model._orig_mod.state_dict()`, or compile in place: `model.compile()`", sure
            )
    return None


def _wrapper(state: Thing) -> Step | None:
    """What compiled the module whose ``state_dict()`` is saved, where nothing wraps or unwraps it."""
    if state.made_by != ".state_dict" or state.steps[0].receiver is None:
        return None
    steps = state.steps[0].receiver.steps
    wrapper = state.steps[0].receiver.find("torch.compile")
    # What fabric.setup gives has the keys of the model inside.
    return None if any(s.name.startswith(".setup") for s in steps) else wrapper
