"""A method of a compiled module runs uncompiled.

What: `model = torch.compile(model)` and then `model.generate(...)`, or another method than `forward` of a class in
the same file, which calls the module itself (`self(x)` or `self.forward(x)`).

Why: `torch.compile(model)` wraps calls of the model. Another method is looked up on the model inside, whose `self` is
the uncompiled one: 0 frames are compiled, and there is no message.

Fix: Compile in place, `model.compile()` or `model.forward = torch.compile(model.forward)`; then every call of the
model is compiled, also from its own methods.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.source.walk import walk
from graphdoctor.static.rule import Hit
from graphdoctor.static.usage import Step, Thing, Use, together

from ._shared import code

CODE = "GD606"
NAME = "method-of-compiled"
SEVERITY = "error"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(x)

    def sample(self, x):
        return self(x).argmax(-1)


model = torch.compile(Net(), backend="eager")
model.sample(torch.rand(4, 8))  # flagged
""",
    """\
import torch


def answer(ids):
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained("gpt2")
    model = torch.compile(model)
    return model.generate(ids)  # flagged


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(x)

    def sample(self, x):
        return self(x).argmax(-1)


model = Net()
model.compile(backend="eager")
model.sample(torch.rand(4, 8))
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(x)

    def count(self):
        return sum(p.numel() for p in self.parameters())


model = torch.compile(Net(), backend="eager")
model.count()
""",
    """\
import torch


def answer(ids):
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained("gpt2")
    model.forward = torch.compile(model.forward)
    return model.generate(ids)


def f(x):
    return x * 2
""",
)


def check_use(event: Use) -> Hit | None:
    step = event.step
    if not step.name.startswith(".") or step.name == ".__call__" or step.receiver is None:
        return None
    wrapper = _wrapper(step.receiver)
    if wrapper is None or not (step.name == ".generate" or _calls_itself(event, step.receiver, step.name[1:])):
        return None
    # A flag that turns compiling on says nothing of when the method is called.
    sure = together(wrapper.path, step.path, "likely")
    return sure and Hit(
        event,
        f"{code(event)} runs the uncompiled model: `torch.compile` wraps calls of the model, not its other methods",
        "compile in place: `model.compile()`",
        sure,
    )


def _wrapper(thing: Thing) -> Step | None:
    """The ``torch.compile`` around an object that is not compiled in place as well."""
    wrapper = thing.find("torch.compile")
    return wrapper if wrapper is not None and thing.find(".compile", ".forward=") is None else None


def _calls_itself(event: Use, thing: Thing, method: str) -> bool:
    """Whether ``method`` of the object's class, which this file defines, calls the module."""
    for node in walk(event.site.module.tree, stop=(cst.FunctionDef,)):
        if isinstance(node, cst.ClassDef) and node.name.value == thing.made_by:
            found = [s for s in node.body.body if isinstance(s, cst.FunctionDef) and s.name.value == method]
            return any(_is_self_call(each) for function in found for each in walk(function.body))
    return False


def _is_self_call(node: cst.CSTNode) -> bool:
    if not isinstance(node, cst.Call):
        return False
    func = node.func
    if isinstance(func, cst.Attribute) and func.attr.value == "forward":
        func = func.value
    return isinstance(func, cst.Name) and func.value == "self"
