"""A method of a compiled module runs uncompiled.

What: `model = torch.compile(model)`, or `prepare` of an `Accelerator` that compiles, and then `model.generate(...)`, or
another method than `forward` of a class of the project, which calls the module itself (`self(x)` or
`self.forward(x)`) or layers of it; of the latter a warning, because only the forward pass may be meant.

Why: `torch.compile(model)` wraps calls of the model. Another method is looked up on the model inside, whose `self` is
the uncompiled one: 0 frames are compiled, and there is no message.

Fix: Compile in place, `model.compile()` or `model.forward = torch.compile(model.forward)`; then every call of the
model is compiled, also from its own methods. To compile the method itself: `net.encode =
torch.compile(net.encode)`.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.model.findings import Severity
from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import (  # fmt: skip
    DDP,
    FSDP,
    Class,
    Function,
    Operation,
    TrackedObject,
    Use,
    compiled,
    compiling_setup,
    dotted,
    plugin,
    together,
)
from graphdoctor.syntax.walk import walk

from ._shared import code, is_module

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
    model = step.receiver
    if not step.name.startswith(".") or step.name == ".__call__" or model is None or model.unsure:
        return None
    wrapper, parallel = _wrapper(model), model.find(*DDP, *FSDP, "torch.nn.DataParallel")
    # A DistributedDataParallel around it has no such method at all.
    if wrapper is None or (parallel is not None and set(parallel.path) <= set(step.path)):
        return None
    severity: Severity = "error"
    if step.name == ".generate":
        # With a static cache, `generate` of transformers compiles by itself.
        found = model.made_of is None and "cache_implementation" not in event.site.module.text
        found = found or _calls_itself(model, "generate")
    else:
        found = _calls_itself(model, step.name[1:])
    if not found and _runs_layers(event, model, step.name[1:]):
        # Maybe only calls of the model were meant to be compiled.
        found, severity = True, "warning"
    # A flag that turns compiling on says nothing of when the method is called.
    sure = together(wrapper.path, step.path, "likely") if found else None
    words = f"{code(event)} runs the uncompiled model: {_by(wrapper)} wraps calls of the model, not its other methods"
    method = step.name[1:]
    advice = "compile in place: `model.compile()`"
    if severity == "warning":
        advice = f"compile the method too: `model.{method} = torch.compile(model.{method})`"
    return sure and Hit(event, words, advice, sure, severity=severity)


def _by(wrapper: Operation) -> str:
    return "`torch.compile`" if wrapper.name == "torch.compile" else "what the Accelerator makes"


def _wrapper(tracked: TrackedObject) -> Operation | None:
    """What wrapped an object for compiled calls that is not compiled in place as well."""
    if tracked.find(".compile", ".forward=", "accelerate.utils.compile_regions") is not None or not tracked.steps:
        return None
    return tracked.find("torch.compile") or next((s for s in reversed(tracked.steps) if _compiles_whole(s)), None)


def _compiles_whole(step: Operation) -> bool:
    accelerator = compiling_setup(step)
    made = plugin(accelerator) if accelerator is not None else None
    return accelerator is not None and (made is None or made.option("use_regional_compilation") is not True)


def _method(tracked: TrackedObject, name: str) -> Function | None:
    """A method of the module's class, of the scanned code."""
    kept = tracked.made_of or _inner_class(tracked)
    return kept.method(name) if kept is not None else None


def _inner_class(tracked: TrackedObject) -> Class | None:
    return None if tracked.inner is None else tracked.inner.made_of or _inner_class(tracked.inner)


def _calls_itself(tracked: TrackedObject, name: str) -> bool:
    """Whether the method, or another that it reaches, calls the module."""
    return any(_called(node) in ("self", "self.forward") for node in _reached(tracked, name))


def _runs_layers(event: Use, tracked: TrackedObject, name: str) -> bool:
    """Whether the method, or another that it reaches, calls modules that the object holds, none of them compiled."""
    parts = event.parts(tracked)
    layers = {f"self.{key}" for key, part in parts.items() if is_module(part)}
    if not layers or any(_is_compiled(part) for part in parts.values()):
        return False
    return any(_called(node) in layers for node in _reached(tracked, name))


def _reached(tracked: TrackedObject, name: str) -> Iterator[cst.CSTNode]:
    """The nodes of the method and of those that it calls, or chooses one of, as ``self.name``; ``forward`` is none."""
    seen, names = {"forward"}, [name]
    while names:
        if (current := names.pop()) in seen:
            continue
        seen.add(current)
        method = _method(tracked, current)
        if method is None or not isinstance(method.node, cst.FunctionDef):
            continue
        for node in walk(method.module.body(method.node)):
            yield node
            if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == "self":
                names.append(node.attr.value)


def _is_compiled(tracked: TrackedObject) -> bool:
    forward = tracked.made_of.find("forward") if tracked.made_of is not None else None
    here = any(each is not None and compiled(each) is not None for each in (tracked, forward))
    return here or any(_is_compiled(item) for item in tracked.items)


def _called(node: cst.CSTNode) -> str:
    return dotted(node.func) if isinstance(node, cst.Call) else ""
