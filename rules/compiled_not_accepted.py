"""A compiled model is given to something that does not take one.

What: The result of `torch.compile(model)` in `torch.jit.trace`, `torch.jit.script`, `torch.fx.symbolic_trace`,
`prepare_fx`, `torch.onnx.export(..., dynamo=False)` or `SummaryWriter.add_graph`; after `model.compile()` too, where
the call traces with TorchScript. A loop over it, an item of it (`compiled[0]`), and functions that replace a parameter
of a layer (`weight_norm`, `register_parametrization`, those of `prune`). As a warning `isinstance(compiled, Net)` and
`type(compiled) is Net`.

Why: `torch.compile(model)` gives an `OptimizedModule` around the model. TorchScript and `torch.fx` do not trace what is
compiled, and raise. The wrapper is not of the class of the model, so a test of the class is silently False; it has no
items and no parameters of its own, so what asks for those raises.

Fix: Give it what was compiled, `compiled._orig_mod`. What was compiled in place is traced before it is compiled.
`torch.export.export`, `torch.onnx.export(..., dynamo=True)` and `copy.deepcopy` take a compiled model.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

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
    dotted,
    same_run,
    unwrapped,
)
from graphdoctor.syntax.walk import find, walk

from ._compiled import is_on, made_as, wrapper
from ._shared import code, deals_with_prefix, is_handled, is_module

CODE = "GD634"
NAME = "compiled-not-accepted"
SEVERITY = "error"
GB_IDS = ()
TORCH = ">=2.6"

#: What traces with TorchScript, and the name of the argument that it traces.
TRACES = {"torch.jit.trace": "func", "torch.jit.trace_module": "mod"}
SCRIPT = "torch.jit.script"
#: What traces symbolically.
SYMBOLIC = {
    "torch.fx.symbolic_trace": "root",
    **{
        f"torch{part}.quantization.quantize_fx.{name}": "model"
        for part in ("", ".ao")
        for name in ("prepare_fx", "prepare_qat_fx")
    },
}
#: Python's functions that go through the items of a container, or read one.
ITEMS = frozenset(("iter", "list", "tuple", "set", "enumerate", "reversed", "operator.getitem"))
_PARAMETRIZATIONS = ("weight_norm", "spectral_norm", "orthogonal")
_PRUNING = (
    *("l1_unstructured", "random_unstructured", "ln_structured", "random_structured"),
    *("custom_from_mask", "identity", "remove"),
)
#: Functions that look for a parameter of this name in the layer itself.
OWN_PARAMETER = frozenset(
    (
        *(f"torch.nn.utils.{name}" for name in ("weight_norm", "spectral_norm")),
        *(f"torch.nn.utils.remove_{name}" for name in ("weight_norm", "spectral_norm")),
        *(f"torch.nn.utils.parametrizations.{name}" for name in _PARAMETRIZATIONS),
        *(f"torch.nn.utils.parametrize.{name}" for name in ("register_parametrization", "remove_parametrizations")),
        *(f"torch.nn.utils.prune.{name}" for name in _PRUNING),
    )
)
_PARALLEL = (*DDP, *FSDP, "torch.nn.DataParallel", "torch.nn.parallel.DataParallel")
#: Methods that modules have and functions do not.
_OF_MODULES = frozenset((".eval", ".train", ".to", ".cuda", ".parameters", ".load_state_dict", ".state_dict"))

BREAKS = (
    """\
import torch
import torch.nn as nn

model = torch.compile(nn.Linear(8, 8), backend="eager")
traced = torch.jit.trace(model, torch.rand(4, 8))  # raises


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn


def save(model, path):
    torch.jit.script(model).save(path)  # raises


model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
model = torch.compile(model, backend="eager")
save(model.eval(), "model.pt")


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn

model = nn.Linear(8, 8)
model.compile(backend="eager")
traced = torch.jit.trace(model, torch.rand(4, 8))  # raises


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn
from torch.fx import symbolic_trace

model = torch.compile(nn.Linear(8, 8), backend="eager")
graph = symbolic_trace(model)  # raises


def f(x):
    return x * 2
""",
    """\
import io

import torch
import torch.nn as nn


class Exporter:
    def __init__(self):
        self.net = torch.compile(nn.Linear(8, 8), backend="eager")

    def export(self):
        example = (torch.rand(4, 8),)
        torch.onnx.export(self.net, example, io.BytesIO(), dynamo=False)  # raises


Exporter().export()


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Linear):
    def __init__(self):
        super().__init__(8, 8)


def describe(model):
    if isinstance(model, Net):  # flagged
        return "ours"
    return "another"


assert describe(Net()) == "ours"
assert describe(torch.compile(Net(), backend="eager")) == "another"


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Linear):
    def __init__(self):
        super().__init__(8, 8)


model = torch.compile(Net(), backend="eager")
same = type(model) is Net  # flagged
assert not same


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch
import torch.nn as nn

model = torch.compile(nn.Linear(8, 8), backend="eager")
traced = torch.jit.trace(model._orig_mod, torch.rand(4, 8))


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn

model = nn.Linear(8, 8)
compiled = torch.compile(model, backend="eager")
traced = torch.jit.trace(model, torch.rand(4, 8))
graph = torch.fx.symbolic_trace(model)


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        return x * 2


model = Net()
traced = torch.jit.trace(model, torch.rand(4, 8))
model.compile(backend="eager")
graph = torch.fx.symbolic_trace(model)


def f(x):
    return x * 2
""",
    """\
# torch >=2.6,!=2.9,!=2.10
import torch
import torch.nn as nn

model = torch.compile(nn.Linear(8, 8), backend="eager")
exported = torch.export.export(model, (torch.rand(4, 8),))


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Linear):
    def __init__(self):
        super().__init__(8, 8)


model = torch.compile(Net(), backend="eager")
assert isinstance(model, nn.Module)
assert isinstance(model, (Net, nn.Module))


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Linear):
    def __init__(self):
        super().__init__(8, 8)


class Other(nn.ReLU):
    pass


model = torch.compile(Net(), backend="eager")
assert not isinstance(model, Other)
assert isinstance(model._orig_mod, Net)


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn

model = torch.compile(nn.Linear(8, 8), backend="eager")
try:
    traced = torch.jit.trace(model, torch.rand(4, 8))
except RuntimeError:
    traced = None


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn

fast = False
model = nn.Linear(8, 8)
if fast:
    model = torch.compile(model, backend="eager")
else:
    model = torch.jit.trace(model, torch.rand(4, 8))


def f(x):
    return x * 2
""",
    """\
from typing import Protocol, runtime_checkable

import torch
import torch.nn as nn


@runtime_checkable
class Sized(Protocol):
    in_features: int


class Net(nn.Linear, Sized):
    def __init__(self):
        nn.Linear.__init__(self, 8, 8)


model = torch.compile(Net(), backend="eager")
assert isinstance(model, Sized)


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        return x * 2


net = Net()
net.compile(backend="eager")
assert isinstance(net, Net)
off = torch.compile(Net(), disable=True)
assert isinstance(off, Net)
traced = torch.jit.trace(off, torch.rand(4, 8))


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn


class Model:
    def __init__(self):
        self.net = nn.Linear(8, 8)

    def compile(self):
        self.net = torch.compile(self.net, backend="eager")

    def export(self, x):
        return torch.jit.trace(self.net, x)


Model().export(torch.rand(4, 8))


def f(x):
    return x * 2
""",
    """\
import sys

import torch
import torch.nn as nn

fast, save = len(sys.argv) > 99, len(sys.argv) < 99
model = nn.Linear(8, 8)
if fast:
    model = torch.compile(model, backend="eager")
if save and fast == False:
    traced = torch.jit.trace(model, torch.rand(4, 8))
if not save or fast:
    graph = None
else:
    graph = torch.fx.symbolic_trace(model)


def f(x):
    return x * 2
""",
)


def check_use(event: Use) -> Hit | None:
    step = event.step
    if step.name in ("isinstance", "type"):
        return _class_test(event)
    model = _given(step)
    by = _refused(step, model) if model is not None and not model.unsure else None
    if model is None or by is None or is_handled(event) or _is_optional(event, by):
        return None
    # A flag that turns compiling on says nothing of when the model is exported.
    sure = same_run(by.path, step.path, "likely")
    words = f"{code(event)} raises: it gets what {_compile(by)} compiled"
    if step.name in ITEMS:
        words = f"{code(event)} raises: a compiled model cannot be indexed or looped over"
    name = dotted(model.node)
    advice = "do it before the model is compiled"
    if name and wrapper(model) is not None and is_module(unwrapped(model)):
        advice = f"give it what was compiled: `{name}._orig_mod`"
    return sure and Hit(event, words, advice, sure)


def _compile(step: Operation) -> str:
    return "`torch.compile`" if step.name == "torch.compile" else "`compile()`"


def _given(step: Operation) -> TrackedObject | None:
    """What a call traces, where it traces in a way that does not take what is compiled."""
    if step.name == ".add_graph":
        return step.argument(0, "model") if step.receiver and step.receiver.made_by.endswith("SummaryWriter") else None
    if step.name in ITEMS or step.name in OWN_PARAMETER:
        return step.argument(0, "module")
    if step.name == "torch.onnx.export":
        return step.argument(0, "model") if step.option("dynamo") is False else None
    name = {**TRACES, **SYMBOLIC, SCRIPT: "obj"}.get(step.name)
    return step.argument(0, name) if name is not None else None


def _refused(step: Operation, model: TrackedObject) -> Operation | None:
    """What compiled the model, if that makes the call raise."""
    inside = model
    while inside.inner is not None and made_as(inside, *_PARALLEL):
        inside = inside.inner
    around = wrapper(inside)
    if step.name in SYMBOLIC:
        return wrapper(model)
    if step.name in ITEMS or step.name in OWN_PARAMETER:
        return wrapper(model) if _is_module(model) else None
    if step.name == SCRIPT:
        # A compiled function is scripted as it was before.
        return around if around is not None and _is_module(inside) else None
    by = around or compiled(model)
    return by if by is not None and is_on(by) else None


def _is_module(wrapper: TrackedObject) -> bool:
    inner = unwrapped(wrapper)
    used = any(step.name in _OF_MODULES and step.receiver is not None for step in wrapper.steps)
    return is_module(inner) or (used and not isinstance(inner.code, Function))


def _is_optional(event: Use, by: Operation) -> bool:
    """Whether a method of the class compiles that nothing calls in the run of this one: maybe one or the other is
    called."""
    if by.order > event.since:
        return False
    for each in find(event.site.module.tree, cst.ClassDef):
        methods = {f.name.value: f for f in each.body.body if isinstance(f, cst.FunctionDef)}
        holder = next((name for name, f in methods.items() if any(node is by.node for node in walk(f))), None)
        if holder is None or holder == "__init__":
            continue
        made = methods.get("__init__")
        called = {dotted(call.func) for call in find(made, cst.Call)} if made is not None else set()
        return f"self.{holder}" not in called
    return False


def _class_test(event: Use) -> Hit | None:
    """A test of the class of the model, which the wrapper is not of."""
    step = event.step
    model = step.args[0] if step.args else None
    by = wrapper(model) if model is not None and not model.unsure else None
    if model is None or model.inner is None or by is None or _knowswrapper(event) or _is_optional(event, by):
        return None
    place: cst.CSTNode | None = event.node
    answer = False
    if step.name == "isinstance":
        found = len(step.args) == 2 and _is_lost(model.inner, step.args[1])
    else:
        place = comparison = _comparison(event, _class_name(model.inner))
        found = comparison is not None
        answer = comparison is not None and isinstance(comparison.comparisons[0].operator, (cst.IsNot, cst.NotEqual))
    sure = same_run(by.path, step.path, "likely") if found else None
    words = f"{code(event, place)} is {answer} once the model is compiled: `torch.compile` gives an `OptimizedModule`"
    name = dotted(model.node) or "compiled"
    advice = f"test what was compiled: `{name}._orig_mod`"
    return sure and Hit(event, words, advice, sure, place, severity="warning")


def _knowswrapper(event: Use) -> bool:
    return "OptimizedModule" in event.site.module.text or deals_with_prefix(event)


def _is_lost(inner: TrackedObject, asked: TrackedObject) -> bool:
    """Whether the model is of one of the classes, and the wrapper of none."""
    classes = asked.items or (asked,)
    return all(map(_is_plain, classes)) and any(_is_of(inner, each) for each in classes)


def _is_plain(asked: TrackedObject) -> bool:
    """Whether only objects of the class itself are instances, and a compiled module is none."""
    if not isinstance(asked.code, Class):
        return asked.name.startswith("torch.nn.") and not asked.name.endswith(".Module")
    metaclass = any(each.node.keywords for each in _lineage(asked.code))
    return not metaclass and not any(root.endswith("Protocol") for root in asked.code.roots)


def _lineage(made_of: Class) -> Iterator[Class]:
    yield made_of
    for base in made_of.bases:
        if isinstance(base.code, Class):
            yield from _lineage(base.code)


def _is_of(inner: TrackedObject, asked: TrackedObject) -> bool:
    if isinstance(asked.code, Class):
        return inner.made_of is not None and any(each.node is asked.code.node for each in _lineage(inner.made_of))
    if inner.made_of is not None:
        return asked.name in inner.made_of.roots
    return asked.name == inner.made_by if inner.inner is None else made_as(inner, asked.name) is not None


def _class_name(inner: TrackedObject) -> str:
    return inner.made_of.node.name.value if inner.made_of is not None else ""


def _comparison(event: Use, name: str) -> cst.Comparison | None:
    """The comparison of the result of ``type(model)`` with the class of this name."""
    for each in find(event.site.statement, cst.Comparison):
        sides = each.left, each.comparisons[0].comparator
        equal = isinstance(each.comparisons[0].operator, (cst.Is, cst.IsNot, cst.Equal, cst.NotEqual))
        if equal and len(each.comparisons) == 1 and any(side is event.node for side in sides):
            return each if name and any(dotted(side).rpartition(".")[2] == name for side in sides) else None
    return None
