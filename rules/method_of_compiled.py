"""A method of a compiled module runs uncompiled.

What: `model = torch.compile(model)`, or `prepare` of an `Accelerator` that compiles, and then `model.generate(...)`, or
another method than `forward` of a class of the project, which calls the module itself (`self(x)` or
`self.forward(x)`) or layers of it; of the latter a warning, because only the forward pass may be meant. So with
`model.module.generate(...)` after `torch.compile(DistributedDataParallel(model))`. A warning too where the class is
not known, the method is named like a pass (`encode`, `predict`), and the file never calls the model itself; and where
such a method is handed to another function, `sample(model.forward_with_guidance)`.

Why: `torch.compile(model)` wraps calls of the model. Another method is looked up on the model inside, whose `self` is
the uncompiled one: 0 frames are compiled, and there is no message.

Fix: Compile in place, `model.compile()` or `model.forward = torch.compile(model.forward)`; then every call of the
model is compiled, also from its own methods. To compile the method itself: `net.encode =
torch.compile(net.encode)`; but where it calls a layer in a loop, as samplers do, compile the layer:
`diffusion.unet.compile()`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence

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
    same_run,
    unwrapped,
)
from graphdoctor.syntax.walk import children, walk

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
    """\
import torch


class Tokenizer:
    def __init__(self, load):
        self.codec = torch.compile(load().eval())

    def tokens(self, audio):
        return self.codec.encode(audio)  # flagged


def f(x):
    return x * 2
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

    def forward_guided(self, x):
        return self(x) * 2


def sample(step, x):
    return step(x)


net = torch.compile(Net(), backend="eager")
step = net.forward_guided
sample(step, torch.rand(4, 8))  # flagged


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
    """\
import torch


class Tokenizer:
    def __init__(self, load):
        self.codec = torch.compile(load().eval())

    def tokens(self, audio):
        return self.codec.encode(self.codec(audio))


def f(x):
    return x * 2
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

    def forward_twice(self, x):
        return x * 2


def sample(step, x):
    return step(x)


net = torch.compile(Net(), backend="eager")
sample(net.forward, torch.rand(4, 8))
sample(net.forward_twice, torch.rand(4, 8))


def f(x):
    return x * 2
""",
)


def check_use(event: Use) -> Hit | None:
    step = event.step
    model = step.receiver
    if (taken := _taken(event)) is not None:
        return taken
    if not step.name.startswith(".") or step.name == ".__call__" or model is None or model.unsure:
        return None
    wrapper, parallel = _wrapper(model) or _wrapper_around(model), model.find(*DDP, *FSDP, "torch.nn.DataParallel")
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
    layers = () if found else _layers_run(event, model, step.name[1:])
    if not found and (layers or _is_all_that_is_called(event, model)):
        # Maybe only calls of the model were meant to be compiled.
        found, severity = True, "warning"
    # A flag that turns compiling on says nothing of when the method is called.
    sure = same_run(wrapper.path, step.path, "likely") if found else None
    words = f"{code(event)} runs the uncompiled model: {_by(wrapper)} wraps calls of the model, not its other methods"
    method = step.name[1:]
    advice = "compile in place: `model.compile()`"
    if severity == "warning":
        advice = f"compile the method too: `model.{method} = torch.compile(model.{method})`"
        if repeated := _repeated(model, method, layers):
            name = f"model.{repeated.removeprefix('self.')}"
            advice = f"compile what it calls in its loop, which compiling `{method}` would unroll: `{name}.compile()`"
    return sure and Hit(event, words, advice, sure, severity=severity)


def _taken(event: Use) -> Hit | None:
    """A method of a compiled module that is handed to what is called."""
    for passed in (*event.step.args, *event.step.kwargs.values()):
        model, method = passed.owner, passed.name.removeprefix(".")
        if isinstance(passed.code, Function) and isinstance(passed.code.node, cst.FunctionDef):
            method = passed.code.node.name.value
        wrapper = _wrapper(model) if model is not None and not model.unsure else None
        if model is None or wrapper is None or method == "forward" or passed.steps:
            continue
        runs = method.startswith("forward_") if _class(model) is None else _calls_itself(model, method)
        words = f"{code(event)} gets `{method}` of the uncompiled model: {_by(wrapper)} wraps calls of the model alone"
        if runs and same_run(wrapper.path, event.step.path, "likely"):
            return Hit(event, words, "compile in place: `model.compile()`", "likely", severity="warning")
    return None


def _is_all_that_is_called(event: Use, model: TrackedObject) -> bool:
    """Whether the file does nothing with the compiled model, of an unknown class, but call methods like this one."""
    node = event.step.node
    if _class(model) is not None or not _PASS.match(event.step.name) or not isinstance(node, cst.Call):
        return False
    name, number = dotted(node.func).rpartition(".")[0], unwrapped(model).number
    if not name or not number or any(_runs(step, number) for step in event.log):
        return False
    known = {id(each.node) for step in event.log for each in _passed(step)}
    return all(_is_known_use(use, known) for use in _uses(event.site.module.tree, name))


def _runs(step: Operation, number: int) -> bool:
    """Whether a call runs the compiled model with this number, or may do so, since it is handed on."""
    if step.receiver is not None and unwrapped(step.receiver).number == number:
        return step.name in (".__call__", ".forward")
    kept = step.followed or step.name in _LOOKS_AT
    return not kept and any(unwrapped(each).number == number for each in _passed(step))


#: What is given a module and does not run it.
_LOOKS_AT = frozenset({"torch.compile", *DDP, *FSDP, "hasattr", "getattr", "isinstance", "print", "id", "type"})


def _passed(step: Operation) -> Iterator[TrackedObject]:
    for each in (*step.args, *step.kwargs.values()):
        yield each
        yield from each.items


def _uses(tree: cst.CSTNode, name: str) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """Where a file names an object, with the node around each place."""
    for around in walk(tree):
        yield from ((around, each) for each in children(around) if dotted(each) == name)


def _is_known_use(use: tuple[cst.CSTNode, cst.CSTNode], known: Container[int]) -> bool:
    """Whether an attribute is read, the name is bound, or a call is given the object that the walk has seen."""
    around, node = use
    if isinstance(around, cst.Attribute):
        return around.attr.value != "forward"
    return isinstance(around, (cst.AssignTarget, cst.AnnAssign, cst.Param)) or id(node) in known


#: Methods that run a model, by their names.
_PASS = re.compile(
    r"\.(encode|decode|predict|infer|sample|embed(?!ding|_tokens)|transcribe|translate|synthesi[sz]e|extract|segment"
    r"|detect|forward_|run_with_)"
)


def _by(wrapper: Operation) -> str:
    return "`torch.compile`" if wrapper.name == "torch.compile" else "what the Accelerator makes"


def _wrapper(tracked: TrackedObject) -> Operation | None:
    """What wrapped an object for compiled calls that is not compiled in place as well."""
    named = ".compile", ".forward=", "accelerate.utils.compile_regions", ".unwrap_model"
    if tracked.find(*named) is not None or not tracked.steps:
        # Compiled in place, or unwrapped by the program, which means what is inside.
        return None
    return tracked.find("torch.compile") or next((s for s in reversed(tracked.steps) if _compiles_whole(s)), None)


def _wrapper_around(tracked: TrackedObject) -> Operation | None:
    """What compiled the wrapper of several processes that a model is taken out of: ``compiled.module``."""
    around = tracked.owner
    return _wrapper(around) if around is not None and around.inner is not None else None


def _compiles_whole(step: Operation) -> bool:
    accelerator = compiling_setup(step)
    made = plugin(accelerator) if accelerator is not None else None
    return accelerator is not None and (made is None or made.option("use_regional_compilation") is not True)


def _method(tracked: TrackedObject, name: str) -> Function | None:
    """A method of the module's class, of the scanned code."""
    kept = _class(tracked)
    return kept.method(name) if kept is not None else None


def _class(tracked: TrackedObject) -> Class | None:
    """The class of a module, or of what wraps one, where the scanned code has it."""
    return tracked.made_of or (_class(tracked.inner) if tracked.inner is not None else None)


def _calls_itself(tracked: TrackedObject, name: str) -> bool:
    """Whether the method, or another that it reaches, calls the module."""
    return any(_called(node) in ("self", "self.forward") for node in _reached(tracked, name))


def _layers_run(event: Use, tracked: TrackedObject, name: str) -> tuple[str, ...]:
    """The modules that the object holds, none of them compiled, which the method, or another that it reaches, calls."""
    parts = event.parts(tracked)
    layers = {f"self.{key}" for key, part in parts.items() if is_module(part)}
    if not layers or any(_is_compiled(part) for part in parts.values()):
        return ()
    return tuple(dict.fromkeys(called for node in _reached(tracked, name) if (called := _called(node)) in layers))


def _repeated(tracked: TrackedObject, name: str, layers: Sequence[str]) -> str:
    """The one module of ``layers`` that is called in each round of a loop of the method, also by other methods."""
    loops = [node for node in _reached(tracked, name) if isinstance(node, (cst.For, cst.While))]
    own = {_called(node) for loop in loops for node in walk(loop.body)}
    for method in [called.removeprefix("self.") for called in own if called.startswith("self.")]:
        own |= {_called(node) for node in _reached(tracked, method)}
    return layers[0] if len(layers) == 1 and layers[0] in own else ""


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
