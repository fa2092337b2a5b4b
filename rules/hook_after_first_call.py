"""A hook that is registered on a layer after the compiled model was called.

What: `register_forward_hook`, `register_forward_pre_hook` or a backward hook on a layer inside a compiled model,
after a call of the compiled model.

Why: The graph was made without the hook, and Dynamo does not guard on the hooks of layers
(`torch._dynamo.config.skip_nnmodule_hook_guards` is on): until something else compiles the model again, nothing calls
the hook, and nothing says so. Hooks on the compiled model itself, and those that were there before its first call, are
called.

Fix: Register it before the first call, or call the model that was not compiled (`compiled._orig_mod`) to look inside.
Or set `torch._dynamo.config.skip_nnmodule_hook_guards = False` before the first call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import TrackedObject, Use, same_run, unwrapped
from graphdoctor.syntax.walk import find, walk

from ._compiled import called_model
from ._shared import code

CODE = "GD636"
NAME = "hook-after-first-call"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch
import torch.nn as nn

seen = []
net = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
model = torch.compile(net, backend="eager")
model(torch.rand(4, 8))
net[0].register_forward_hook(lambda *_: seen.append(1))  # flagged
model(torch.rand(4, 8))
assert not seen


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.body(x))


def features(model, x):
    found = []
    handle = model.body.register_forward_hook(lambda layer, given, out: found.append(out))  # flagged
    model(x)
    handle.remove()
    return found


model = torch.compile(Net(), backend="eager")
model(torch.rand(4, 8)).sum().backward()
assert features(model, torch.rand(4, 8)) == []


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)

    def forward(self, x):
        return self.body(x)


seen = []
model = Net()
model.compile(backend="eager")
model(torch.rand(4, 8))
for name, layer in model.named_modules():
    if name == "body":
        layer.register_forward_pre_hook(lambda *_: seen.append(1))  # flagged
model(torch.rand(4, 8))
assert not seen


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch
import torch.nn as nn

seen = []
net = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
model = torch.compile(net, backend="eager")
net[0].register_forward_hook(lambda *_: seen.append(1))
model(torch.rand(4, 8))
assert seen


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn

seen = []
model = torch.compile(nn.Sequential(nn.Linear(8, 8), nn.ReLU()), backend="eager")
model(torch.rand(4, 8))
model.register_forward_hook(lambda *_: seen.append(1))
model(torch.rand(4, 8))
assert seen


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn

seen = []
net = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
net(torch.rand(4, 8))
net[0].register_forward_hook(lambda *_: seen.append(1))
model = torch.compile(net, backend="eager")
model(torch.rand(4, 8))
assert len(seen) == 1


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn

seen = []
net = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
model = torch.compile(net, backend="eager")
model(torch.rand(4, 8))
torch.compiler.reset()
net[0].register_forward_hook(lambda *_: seen.append(1))
model(torch.rand(4, 8))
assert seen


def f(x):
    return x * 2
""",
)

#: How a hook is registered that the calls of a layer, or its backward pass, make.
_HOOKS = tuple(f".register_{kind}hook" for kind in ("forward_", "forward_pre_", "full_backward_", "full_backward_pre_"))
#: What the layers of a model are taken from.
_LAYERS = tuple(f".{name}" for name in ("modules", "named_modules", "children", "named_children", "get_submodule"))
_RESETS = ("torch.compiler.reset", "torch._dynamo.reset")


def check_use(event: Use) -> Hit | None:
    step = event.step
    if step.name not in _HOOKS or step.receiver is None or "skip_nnmodule_hook_guards" in event.site.module.text:
        return None
    before = event.before
    reset = max((each.order for each in before if each.name in _RESETS), default=-1)
    layers = [step.receiver, *_looped_over(event)]
    calls = ((each, called_model(each)) for each in before if each.order > reset)
    # The number 0 stands for objects that are not followed.
    known = ((call, model.number) for call, model in calls if model is not None and model.number)
    called = next((call for call, model in known if _is_any_inside(event, layers, model)), None)
    sure = same_run(called.path, step.path) if called is not None else None
    return sure and Hit(
        event,
        f"{code(event)} comes after a call of the compiled model: until that is compiled again, nothing calls the hook",
        "register it before the first call, or look inside the model that is not compiled",
        "likely",
    )


def _is_any_inside(event: Use, layers: Sequence[TrackedObject], model: int) -> bool:
    """Whether the layer, the first of ``layers``, is in the module with the number ``model``.

    The others are modules whose layers a loop goes through.
    """
    layer, *givers = layers
    return _is_inside(event, layer, model) or any(
        unwrapped(giver).number == model or _is_inside(event, giver, model) for giver in givers
    )


def _is_inside(event: Use, layer: TrackedObject, model: int) -> bool:
    """Whether ``layer`` is one of the layers in the module with the number ``model``, and not that module itself."""
    number = unwrapped(layer).number
    if number and number == model:
        return False
    taken = layer.maker.receiver if layer.maker is not None and layer.maker.name in _LAYERS else None
    holders = [holder for holder in (layer.owner, taken) if holder is not None]
    return _holds(event, model, number, set()) or any(
        unwrapped(holder).number == model or _is_inside(event, holder, model) for holder in holders
    )


def _holds(event: Use, holder: int, part: int, seen: set[int]) -> bool:
    """Whether an object has another one as an attribute or element, at any depth."""
    if not part or holder in seen:
        return False
    seen.add(holder)
    parts = {unwrapped(each).number for value in event.objects.get(holder, {}).values() for each in value.parts()}
    return part in parts or any(_holds(event, each, part, seen) for each in parts if each)


def _looped_over(event: Use) -> Iterator[TrackedObject]:
    """The modules whose layers the loops around the call go through under the name that gets the hook."""
    called = event.node.func if isinstance(event.node, cst.Call) else None
    name = called.value.value if isinstance(called, cst.Attribute) and isinstance(called.value, cst.Name) else ""
    for loop in (*event.step.loops, *find(event.site.statement, cst.CompFor)):
        if isinstance(loop, cst.While) or name not in {n.value for n in walk(loop.target) if isinstance(n, cst.Name)}:
            continue
        parts = {id(part) for part in walk(loop.iter)}
        for step in event.before:
            if step.name in _LAYERS and id(step.node) in parts and step.receiver is not None:
                yield step.receiver
