"""Autograd's own operations in compiled code.

What: `backward()`, `torch.autograd.grad`, the functions of `torch.autograd.functional`, `requires_grad_()` on a
result or parameter, assignment to `.requires_grad`, `retain_grad()`, reading `.grad_fn`, assignment to `.data` of a
result, `detach_()` of an argument or parameter; an `autograd.Function` that is given the same tensor twice, whose
`forward` or `backward` is a classmethod, or that has a `jvp` or `vjp` of its own; `ctx.saved_variables`, the old name
of `ctx.saved_tensors`; assignment to `.real` or `.imag`;
`torch.zeros(..., requires_grad=True)` and its like.

Why: Dynamo records the forward computation; the backward graph is made from it later. Operations on
autograd's bookkeeping are not part of it, so they split the graph or leave the function uncompiled. Hooks,
custom `autograd.Function`s and `.detach()` are traced, but where gradients flow through a `Function`, its inputs
are distinguished by their tensors, and its methods are called without a class. What the forward saved has one name
in the backward that Dynamo traces: under the old one there is nothing, and a loop over it silently gives another
gradient.

Fix: Compile the forward pass and the loss, and call `backward()` outside. Freeze parameters before compiling.
For derivatives inside the model set `torch._dynamo.config.trace_autograd_ops = True` (torch 2.11), or use
`torch.func.grad`. Whether a tensor has a `grad_fn` is what `not y.is_leaf` says.
"""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from graphdoctor.fixes.branches.choose import by_name, first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.forms.function_methods import give_once, static_methods
from graphdoctor.fixes.forms.gradient_functions import grad_and_value
from graphdoctor.fixes.forms.gradients import asked_leaf, grad_flag_in_eager
from graphdoctor.fixes.forms.old_forms import constant_without_gradient, detached, saved_tensors, written_data
from graphdoctor.fixes.forms.own_checkpoint import library_checkpoint
from graphdoctor.fixes.python.capture import trace_gradients
from graphdoctor.static.domain.events import Call, GetAttr, SetAttr
from graphdoctor.static.domain.value_functions import may_be_tensor, options, tensor_of
from graphdoctor.static.domain.values import Class, Const, Function, Instance, Tensor, TorchModule, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.static.usage.events import dotted
from graphdoctor.syntax.walk import find, walk

from ._own_checkpoint import ADVICE as OWN_CHECKPOINT
from ._own_checkpoint import is_in_own_checkpoint
from ._shared import certainty, code, consequence, function_named, is_autograd_context

CODE = "GD501"
NAME = "autograd-in-graph"
SEVERITY = "error"
GB_IDS = (
    "GB0123", "GB9186", "GB8985", "GB0125", "GB0206", "GB0108", "GB0104", "GB0056", "GB0148", "GB0007", "GB6297",
    "GB0225", "GB7312", "GB0055", "GB0088", "GB0144", "GB0145",
)  # fmt: skip
TORCH = ">=2.6"

#: The name of a call of what a class derived from ``torch.autograd.Function`` does.
_APPLY = "torch.autograd.Function.apply"

METHODS = {
    "backward": "call it outside: compile the forward pass and the loss",
    "retain_grad": "return the tensor and use `torch.autograd.grad` outside",
    "requires_grad_": "set requires_grad before the call, on the parameter or the input",
    "detach_": "use `detach()`, which is traced",
}
#: What no caller can set, as the points between real and made samples by which a penalty is derived.
_OF_RESULT = (
    "derive by it with `torch.func.grad`, which is traced, or call the function that needs its gradient outside of "
    "what is compiled"
)
_INSTEAD_OF_OFF = (
    "go on with `x = x.detach()`, which needs no gradient either and leaves the tensor of the caller as it is"
)
FUNCTIONS = {
    "torch.autograd.grad": "set `torch._dynamo.config.trace_autograd_ops = True` (torch 2.11), use "
    "`torch.func.grad`, or call it outside the compiled function",
    "torch.autograd.backward": METHODS["backward"],
    **{
        f"torch.autograd.functional.{name}": f"use `{traced}`, which is traced"
        for name, traced in (
            ("jacobian", "torch.func.jacrev"), ("hessian", "torch.func.hessian"), ("vjp", "torch.func.vjp"),
            ("jvp", "torch.func.jvp"), ("hvp", "torch.func.jvp(torch.func.grad(f), ...)"),
            ("vhp", "torch.func.vjp(torch.func.grad(f), ...)"),
        )
    },
}  # fmt: skip
_NO_SECOND = "; a graph before it has no second backward, so the backward of what `create_graph=True` gives raises"
#: What makes tensors that may ask for a gradient.
FACTORIES = frozenset(
    f"torch.{name}{suffix}"
    for name in ("zeros", "ones", "empty", "full", "rand", "randn", "tensor", "arange", "linspace", "eye")
    for suffix in ("", "_like")
)

BREAKS = (
    """\
import torch


def f(x):
    return x + torch.zeros_like(x, requires_grad=True)  # GB0225
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        start = torch.zeros(8, requires_grad=self.training)  # GB0225
        return x + start


def graphdoctor_target():
    return Net().train(), (torch.rand(4, 8),)
""",
    """\
import torch


def f(x):
    x.square().sum().backward()  # GB0123
    return x * 2


def graphdoctor_target():
    return f, (torch.rand(4, 8, requires_grad=True),)
""",
    """\
import torch


def f(x):
    (slope,) = torch.autograd.grad(x.square().sum(), x)  # GB9186
    return slope


def graphdoctor_target():
    return f, (torch.rand(4, 8, requires_grad=True),)
""",
    """\
def f(x):
    y = x.detach().requires_grad_(True)  # GB8985
    return y * 3
""",
    """\
def f(x):
    y = x.clone()
    y.requires_grad = True  # GB0206
    return y * 3
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        self.lin.requires_grad_(False)  # GB0125
        return self.lin(x)
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        self.requires_grad_(x.shape[0] > 100)  # GB0125
        return self.lin(x)
""",
    """\
# torch >=2.9
import torch


def f(x):
    y = x * 2
    y.retain_grad()  # GB0108
    return y.sum()


def graphdoctor_target():
    return f, (torch.rand(4, 8, requires_grad=True),)
""",
    """\
import torch


def f(x):
    y = x * 2
    if y.grad_fn is not None:  # GB0104
        return y + 1
    return y


def graphdoctor_target():
    return f, (torch.rand(4, 8, requires_grad=True),)
""",
    """\
import torch


def f(x):
    y = x.clone()
    y.data = torch.zeros(4, 8)  # GB0056
    return y
""",
    """\
def f(x):
    y = x * 2
    return y + x.detach_()  # GB0148
""",
    """\
import torch


def f(x):
    torch.autograd.backward(x.square().sum())  # GB0007
    return x * 2


def graphdoctor_target():
    return f, (torch.rand(4, 8, requires_grad=True),)
""",
    """\
# torch >=2.13
import torch
import torch.nn as nn


class Weigh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows, columns, x):
        ctx.save_for_backward(rows, columns)
        return x * rows * columns

    @staticmethod
    def backward(ctx, slope):
        rows, columns = ctx.saved_tensors
        return None, None, slope * rows * columns


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x, mask):
        return Weigh.apply(mask, mask, self.lin(x))  # GB6297


def graphdoctor_target():
    return Net(), (torch.rand(4, 8), torch.ones(4, 8))
""",
    """\
import torch


class Scale(torch.autograd.Function):
    @classmethod
    def forward(cls, ctx, x):
        return x * 2

    @classmethod
    def backward(cls, ctx, slope):
        return slope * 2


def f(x):
    return Scale.apply(x) + 1  # GB7312


def graphdoctor_target():
    return f, (torch.rand(4, 8, requires_grad=True),)
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        y = self.lin(x)
        return y + torch.ones(8, requires_grad=y.requires_grad)  # GB0225


def graphdoctor_target():
    return Net(), (torch.rand(4, 8),)
""",
    """\
import torch
from torch.autograd.functional import jacobian


def wave(x):
    return x.sin() * 2


def f(x):
    slopes = jacobian(wave, x)  # GB0055
    return slopes + 1


def graphdoctor_target():
    return f, (torch.rand(3),)
""",
    """\
import torch


def energy(x):
    return (x**2).sum()


def f(x):
    value, product = torch.autograd.functional.hvp(energy, x, x)  # GB0055
    return product + 1


def graphdoctor_target():
    return f, (torch.rand(3),)
""",
    """\
import torch
import torch.nn as nn


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, slope):
        x, weight = ctx.saved_variables  # GB0088
        return slope * weight, (slope * x).sum(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))

    def forward(self, x):
        return Scale.apply(x, self.weight)


def graphdoctor_target():
    return Net(), (torch.rand(4, 8),)
""",
    """\
import torch
import torch.nn as nn


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = 2

    @staticmethod
    def backward(ctx, slope):
        return slope * ctx.factor

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        return Scale.apply(self.lin(x))  # GB0144


def graphdoctor_target():
    return Net(), (torch.rand(4, 8),)
""",
    """\
import torch
import torch.nn as nn


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = 2

    @staticmethod
    def vjp(ctx, slope):
        return slope * ctx.factor


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        return Scale.apply(self.lin(x))  # GB0145


def graphdoctor_target():
    return Net(), (torch.rand(4, 8),)
""",
    """\
def f(x):
    target = x.detach() * 2
    target.requires_grad = False  # GB0206
    return (x - target).square().mean()
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
        self.requires_grad_(True)
        return self.lin(x)
""",
    """\
import torch


def f(x):
    return x + torch.ones(8, requires_grad=False) + x.new_zeros(8, requires_grad=True)
""",
    """\
import torch


def f(x, start=torch.zeros(8, requires_grad=True)):
    return x + start
""",
    """\
import torch


def f(x):
    return torch.func.grad(lambda t: t.square().sum())(x)
""",
    """\
def f(x):
    y = x.detach()
    return y * 3 if not x.requires_grad else y
""",
    """\
import torch


def f(x):
    with torch.no_grad():
        return x * 2
""",
    """\
# torch >=2.11
import torch


def f(x):
    y = x * 2
    y.register_hook(lambda slope: slope * 2)
    return y


def graphdoctor_target():
    return f, (torch.rand(4, 8, requires_grad=True),)
""",
    """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)
        self.lin.requires_grad_(False)

    def forward(self, x):
        return self.lin(x)
""",
    """\
def f(x):
    if x.is_leaf and x.grad is None:
        return x.data * 2
    return x
""",
    """\
def f(x):
    y = x * 2
    y.requires_grad_(False)
    return y
""",
    """\
import torch


class Negate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, slope):
        return -slope


def f(x):
    return Negate.apply(x) * 2
""",
    """\
import torch
import torch.nn as nn


class Weigh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, number, other):
        return x * y * number * other

    @staticmethod
    def backward(ctx, slope):
        return slope, slope, None, None


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        number = x.shape[0]
        return Weigh.apply(self.lin(x), self.lin(x), number, number)


def graphdoctor_target():
    return Net(), (torch.rand(4, 8),)
""",
    """\
def f(x):
    y = x.clone()
    y.data.mul_(2)
    return y
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        self.lin.weight.data = self.lin.weight.data * 1.0
        self.lin.zero_grad()
        return self.lin(x)
""",
    """\
class Node:
    def backward(self):
        return 2.0


def f(x):
    return x * Node().backward()
""",
    """\
import torch


def f(x):
    with torch.no_grad():
        y = x * 2
        y.detach_()
    return y + x.exp().detach_()
""",
    """\
import torch


def f(x):
    return x * torch.ones(8).requires_grad
""",
    """\
def f(x):
    y = x * 2
    if not y.is_leaf:
        return y + 1
    return y.detach()
""",
    """\
import torch


def wave(x):
    return x.sin() * 2


def f(x):
    return torch.func.jacrev(wave)(x) + 1


def graphdoctor_target():
    return f, (torch.rand(3),)
""",
    """\
import torch


def energy(x):
    return (x**2).sum()


def f(x):
    value, product = torch.func.jvp(torch.func.grad(energy), (x,), (x,))
    return product + 1


def graphdoctor_target():
    return f, (torch.rand(3),)
""",
    """\
import torch
import torch.nn as nn


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, slope):
        x, weight = ctx.saved_tensors
        return slope * weight, (slope * x).sum(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))

    def forward(self, x):
        return Scale.apply(x, self.weight)


def graphdoctor_target():
    return Net(), (torch.rand(4, 8),)
""",
    """\
import torch
import torch.nn as nn


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = 2

    @staticmethod
    def backward(ctx, slope):
        return slope * ctx.factor

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        y = self.lin(x)
        with torch.no_grad():
            return Scale.apply(y) + 1


def graphdoctor_target():
    return Net(), (torch.rand(4, 8),)
""",
    """\
import torch
import torch.nn as nn


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = 2

    @staticmethod
    def backward(ctx, slope):
        return slope * ctx.factor

    @staticmethod
    def vmap(info, in_dims, x):
        return x * 2, in_dims[0]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        return Scale.apply(self.lin(x))


def graphdoctor_target():
    return Net(), (torch.rand(4, 8),)
""",
    """\
import torch
import torch.nn as nn


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        return x * factor

    @staticmethod
    def backward(ctx, slope):
        return slope, None

    @staticmethod
    def jvp(ctx, tangent, _):
        return tangent


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return Scale.apply(x, 2)

    @staticmethod
    def backward(ctx, slope):
        return Scale.apply(slope, 2)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        return Twice.apply(self.lin(x))


def graphdoctor_target():
    return Net(), (torch.rand(4, 8),)
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.kept = torch.zeros(8), {"a": torch.zeros(8).clone()}

    def forward(self, x):
        mean = self.mean
        mean.data = mean.data * 0.5
        for name in self.kept:
            self.kept[name].data = x.mean(0) + self.kept[name].data
        self.mean.data = x.mean(0)
        return x - self.mean - self.kept["a"]


def graphdoctor_target():
    return Net(), (torch.rand(4, 8),)
""",
)


def watches(name: str) -> bool:
    return name in FUNCTIONS or name in FACTORIES or name == _APPLY or name.rpartition(".")[2] in METHODS


def check_call(event: Call) -> Hit | None:
    if event.qualname in FUNCTIONS:
        twice = event.kwargs.get("create_graph") == Const(True)
        return _hit(event, FUNCTIONS[event.qualname] + (_NO_SECOND if twice else ""))
    if event.qualname == _APPLY:
        without = _is_in_function(event) or _is_under_no_grad(event)
        return None if without else _class_methods(event) or _own_rule(event) or _same_twice(event)
    if event.qualname in FACTORIES:
        return _with_gradient(event)
    package, _, name = event.qualname.rpartition(".")
    if name not in METHODS or event.receiver is None:
        return None
    of_module = _is_module(event.receiver)
    if package != "torch.Tensor" and not (of_module and name == "requires_grad_"):
        return None
    if name == "requires_grad_" and not of_module and _turns_off(event) and not _has_parameters(event.receiver):
        return None
    if of_module and _leaves_on(event):
        return None
    if name == "requires_grad_" and not of_module and (_is_made_by_layers(event) or _is_in_backward(event)):
        return None
    if name == "detach_" and _is_computed(event.receiver):
        return None
    advice = _OF_RESULT if name == "requires_grad_" and _is_result(event.receiver) else METHODS[name]
    hit = _hit(event, advice, event.receiver if package == "torch.Tensor" else None)
    # What is turned on only by a flag may stay as it is: ``requires_grad_(force and not x.requires_grad)``.
    return hit if name != "requires_grad_" or of_module or _leaves_on(event) else replace(hit, confidence="possible")


def _is_in_backward(event: Call) -> bool:
    """Whether a `Function` asks for gradients in its backward, which Dynamo traces without looking at them."""
    return event.site.function.endswith(".backward")


def _is_made_by_layers(event: Call) -> bool:
    """Whether ``x`` comes from a layer, as in ``x = self.embed(ids)``, and so requires a gradient already."""
    called = event.node.func if isinstance(event.node, cst.Call) else None
    function = function_named(event)
    if function is None or not isinstance(called, cst.Attribute) or not isinstance(called.value, cst.Name):
        return False
    source, name = event.site.module, called.value.value
    made = [
        node.value
        for node in find(function.body, cst.Assign)
        if any(isinstance(t.target, cst.Name) and t.target.value == name for t in node.targets)
        and source.location(node).line < source.location(event.node).line
    ]
    layer = dotted(made[-1].func) if made and isinstance(made[-1], cst.Call) else ""
    own = f"{event.site.function.rpartition('.')[0]}.{layer.removeprefix('self.')}"
    # A method of the class may give anything.
    return layer.startswith("self.") and source.function(own) is None


def check_getattr(event: GetAttr) -> Hit | None:
    if event.name == "saved_variables":
        # Another class may have an attribute of this name.
        return _saved_variables(event) if is_autograd_context(event.receiver) else None
    if event.name != "grad_fn" or not may_be_tensor(event.receiver) or _is_leaf(event.receiver):
        return None
    return replace(_hit(event, "test `requires_grad`, which is traced", event.receiver), confidence="likely")


def _is_leaf(value: Value) -> bool:
    """Whether it is a parameter, or what compiled code is given: no operation made it, so it has no ``grad_fn``."""
    tensors = [option for option in options(value) if isinstance(option, Tensor)]
    return all(tensor.owned or tensor.argument for tensor in tensors)


def _saved_variables(event: GetAttr) -> Hit | None:
    """An old name that is empty while tracing. A loop over nothing breaks nowhere, and the gradient is another."""
    follows = "the function that computes the gradient runs uncompiled as a whole"
    if isinstance(event.site.statement, cst.For):
        follows = "before torch 2.14 the loop has no iterations, and the gradient is silently wrong"
    return Hit(
        event,
        f"{code(event)} is empty in a backward that Dynamo traces: {follows}",
        "use `saved_tensors`, its name since torch 0.4",
        "likely",
    )


def check_setattr(event: SetAttr) -> Hit | None:
    if not may_be_tensor(event.receiver):
        return None
    if event.name == "requires_grad":
        off = event.value == Const(False)
        to_ask = _OF_RESULT if _is_result(event.receiver) else METHODS["requires_grad_"]
        return _hit(event, _INSTEAD_OF_OFF if off else to_ask, event.receiver)
    if event.name in _PARTS:
        return Hit(
            event,
            f"{code(event)} is assigned, a part of a complex tensor",
            "make a new tensor with `torch.complex`",
            certainty(event, event.receiver),
            consequence=consequence(event),
        )
    if event.name == "data" and _is_computed(event.receiver) and _is_made_here(event):
        array = tensor_of(event.receiver)
        if array is not None and array.numpy:
            return Hit(
                event,
                f"{code(event)} is assigned, which is the memory of an array",
                "write into the array with `array[...] = values`, or give the name a new one",
                certainty(event, event.receiver),
                consequence=consequence(event),
            )
        return _hit(event, "assign the tensor to the name, or write into it with `copy_`", event.receiver)
    return None


#: The parts of a complex tensor, which only eager code assigns.
_PARTS = ("real", "imag")


def _is_made_here(event: SetAttr) -> bool:
    """Whether the receiver is a name that the function gives the result of a computation; what objects and globals
    hold is an input of the graph, whose data may be replaced.
    """
    target, function = event.node, function_named(event)
    if not isinstance(target, cst.Attribute) or not isinstance(target.value, cst.Name) or function is None:
        return False
    made = (
        node.value
        for node in find(function.body, cst.Assign)
        if any(isinstance(t.target, cst.Name) and t.target.value == target.value.value for t in node.targets)
    )
    return any(not isinstance(value, (cst.Attribute, cst.Subscript, cst.Name)) for value in made)


def _hit(event: Call | GetAttr | SetAttr, suggestion: str, value: Value | None = None) -> Hit:
    return Hit(
        event,
        f"{code(event)} reads or changes the state of autograd",
        OWN_CHECKPOINT if is_in_own_checkpoint(event) else suggestion,
        certainty(event, value),
        consequence=consequence(event),
    )


def _class_methods(event: Call) -> Hit | None:
    """A `Function` that Dynamo cannot bind the arguments of, where gradients flow; without them it is traced."""
    assert isinstance(event.receiver, Class)
    found = {name: event.receiver.info.lookup(name) for name in ("forward", "backward")}
    named = [name for name, method in found.items() if _is_classmethod(method)]
    if not named:
        return None
    return Hit(
        event,
        f"{code(event)} calls a classmethod ({' and '.join(named)}), which is not traced when gradients flow",
        "make it a `staticmethod` without `cls`",
        "likely",
        consequence=consequence(event),
    )


#: Rules of a derivative that a `Function` may have beside `backward`, and what to do without them.
_RULES = {
    "jvp": "remove `jvp`, or apply a subclass with `jvp = torch.autograd.Function.jvp`: it is for forward mode only",
    "vjp": "call it `backward`, which is the same",
}


def _own_rule(event: Call) -> Hit | None:
    """A `Function` with a rule that Dynamo does not know, where gradients flow; without them it is traced."""
    assert isinstance(event.receiver, Class)
    # A subclass may go back to that of torch: ``jvp = torch.autograd.Function.jvp``.
    name = next((name for name in _RULES if isinstance(event.receiver.info.lookup(name), Function)), None)
    if name is None:
        return None
    return Hit(
        event,
        f"{code(event)} has a `{name}` of its own, which is not traced when gradients flow",
        _RULES[name],
        "likely",
        consequence=consequence(event),
    )


#: What turns gradients off for a block or a function.
_NO_GRAD = ("no_grad", "inference_mode")


def _is_under_no_grad(event: Call) -> bool:
    """Whether the function, or a block in it, that calls computes no gradients."""
    function = function_named(event)
    if function is None:
        return False
    blocks = [block for block in find(function.body, cst.With) if any(node is event.node for node in walk(block.body))]
    around = [item.item for block in blocks for item in block.items] + [each.decorator for each in function.decorators]
    named = (dotted(each.func if isinstance(each, cst.Call) else each) for each in around)
    return any(name.rpartition(".")[2] in _NO_GRAD for name in named)


def _is_in_function(event: Call) -> bool:
    """Whether a method of a `Function` calls, in which gradients are off."""
    owner = event.site.function.rpartition(".")[0].rpartition(".")[2]
    classes = (each for each in find(event.site.module.tree, cst.ClassDef) if each.name.value == owner)
    return any(dotted(base.value).rpartition(".")[2] == "Function" for each in classes for base in each.bases)


def _is_classmethod(value: Value | None) -> bool:
    return isinstance(value, Function) and "classmethod" in value.info.markers


def _same_twice(event: Call) -> Hit | None:
    """A name given twice, where some input is computed: of arguments it is not known whether they have a gradient."""
    arguments = event.node.args if isinstance(event.node, cst.Call) else ()
    named = [
        argument.value.value
        for argument, value in zip(arguments, event.args, strict=False)
        if isinstance(argument.value, cst.Name) and may_be_tensor(value)
    ]
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is None or all(o.argument for value in event.args for o in options(value) if isinstance(o, Tensor)):
        return None
    return Hit(
        event,
        f"{code(event)} is given `{twice}` twice, which is not traced when gradients flow",
        f"give it once, or `{twice}.clone()` the second time",
        "likely",
        torch=">=2.13",
        consequence=consequence(event),
    )


def _with_gradient(event: Call) -> Hit | None:
    """``requires_grad=True``, or what may be: the mode of the module, or whether a tensor needs a gradient."""
    arguments = event.node.args if isinstance(event.node, cst.Call) else ()
    requires_grad = next(
        (a.value for a in arguments if a.keyword is not None and a.keyword.value == "requires_grad"), None
    )
    asked = requires_grad.attr.value if isinstance(requires_grad, cst.Attribute) else ""
    if asked not in ("training", "requires_grad") and event.kwargs.get("requires_grad") != Const(True):
        return None
    hit = _hit(event, "make it outside the compiled function, or without a gradient")
    if asked == "requires_grad":
        return replace(hit, confidence="possible")
    return replace(hit, confidence="likely") if asked else hit


def _turns_off(event: Call) -> bool:
    flag = event.kwargs.get("requires_grad", event.args[0] if event.args else Const(True))
    return flag == Const(False)


def _leaves_on(event: Call) -> bool:
    """Whether parameters are asked to have gradients, as they do: that changes nothing."""
    return event.kwargs.get("requires_grad", event.args[0] if event.args else Const(True)) == Const(True)


def _is_module(value: Value) -> bool:
    return isinstance(value, TorchModule) or (isinstance(value, Instance) and value.info.is_module)


def _is_computed(value: Value) -> bool:
    """Whether the graph makes it: it is no argument, nor held by a module, which outlive the graph."""
    return not any(isinstance(o, Tensor) and (o.argument or o.owned) for o in options(value))


def _is_result(value: Value) -> bool:
    """Whether it is surely a tensor that the graph makes."""
    return all(isinstance(option, Tensor) for option in options(value)) and _is_computed(value)


def _has_parameters(value: Value) -> bool:
    """True for a module and for a parameter, whose requires_grad is True, so that turning it off changes it."""
    return any(isinstance(o, TorchModule) or (isinstance(o, Tensor) and o.owned) for o in options(value))


def recorded_by(hit: Hit, _editor: Editor) -> str:
    is_traced = isinstance(hit.event, Call) and hit.event.qualname in ("torch.autograd.grad", "torch.Tensor.backward")
    return "trace_autograd_ops" if is_traced else ""


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    if isinstance(hit.event, Call) and hit.event.qualname == _APPLY:
        return _of_function(hit.event, editor)
    if isinstance(hit.event, GetAttr) and hit.event.name == "saved_variables":
        return saved_tensors(hit, editor)
    if isinstance(hit.event, Call) and hit.event.qualname == "torch.autograd.grad":
        anew = (library_checkpoint,) if is_in_own_checkpoint(hit.event) else ()
        return first_fit(hit, editor, *anew, grad_and_value, trace_gradients)
    own = {"backward": trace_gradients}
    rewrites = (grad_flag_in_eager, constant_without_gradient, written_data, detached, asked_leaf)
    return by_name(hit, editor, own, *rewrites)


def _of_function(event: Call, editor: Editor) -> FixPlan | Refusal:
    """What a `Function` has to be for its call to be traced. Raises Refuse where no rewrite fits."""
    assert isinstance(event.receiver, Class)
    if _class_methods(event):
        return static_methods(event.receiver, editor)
    if _own_rule(event):
        return Refusal("Whether forward-mode derivatives (`torch.func.jvp`) are taken of it, its file does not show.")
    return give_once(cst.ensure_type(event.node, cst.Call), editor)
