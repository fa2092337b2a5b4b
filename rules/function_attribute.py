"""An attribute of an `autograd.Function` class is used.

What: A number, flag, list or tensor that a subclass of `torch.autograd.Function` holds, `Spike.scale`, is used in
compiled code: in a forward pass, and in the `forward` and `backward` of the class itself.

Why: Dynamo knows of such a class what is called, `apply` and its methods, and does not look up other attributes: what
stands for `Spike.scale` has no value, and computing with it, comparing it or passing it to torch ends the graph. A
`backward` is traced with the `apply` that it belongs to, where a gradient is needed.

Fix: Keep the value in a module-level constant, or pass it to `apply` and keep it in `ctx`.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.static.domain.events import GetAttr
from graphdoctor.static.domain.values import Class
from graphdoctor.static.rule import Hit
from graphdoctor.syntax.walk import children, walk

from ._shared import certainty, code, consequence, leaves_function

CODE = "GD515"
NAME = "function-attribute"
SEVERITY = "error"
GB_IDS = ("GB4841", "GB0055", "GB6215")
TORCH = ">=2.6"

SPIKE = """\
import torch


class Spike(torch.autograd.Function):
    scale = 2.0
    states = ["a", "b"]
    sharp = True

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).float()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad / (x.abs() + 1) ** 2
"""

BREAKS = (
    """\
import torch


class Spike(torch.autograd.Function):
    scale = 2.0

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).float()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad / (Spike.scale * x.abs() + 1) ** 2  # GB4841


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(8, 8)

    def forward(self, x):
        return Spike.apply(self.lin(x)) + 1
""",
    SPIKE
    + """\


def f(x):
    return x * Spike.scale  # GB4841
""",
    SPIKE
    + """\


def f(x):
    return torch.clamp(x, max=Spike.scale) + 1  # GB0055
""",
    SPIKE
    + """\


def f(x):
    if Spike.scale > 1:  # GB6215
        x = x + 1
    return x * 2
""",
    SPIKE
    + """\


def f(x):
    if Spike.sharp:  # GB4841
        x = x + 1
    return x * 2
""",
    SPIKE
    + """\


def f(x):
    for state in Spike.states:  # GB4841
        x = x + len(state)
    return x
""",
)

CLEAN = (
    SPIKE
    + """\


def f(x):
    return Spike.apply(x) + 1
""",
    SPIKE
    + """\


SCALE = Spike.scale


def f(x):
    return Spike.apply(x) * SCALE
""",
    SPIKE
    + """\


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = Spike.scale

    def forward(self, x):
        return x * self.scale
""",
    """\
import torch


class Scaled(torch.autograd.Function):
    scale = 2.0

    @staticmethod
    def half(x):
        return x / 2

    @staticmethod
    def forward(ctx, x, scale=scale):
        ctx.scale = scale
        return Scaled.half(x) * scale

    @staticmethod
    def backward(ctx, grad):
        return Scaled.half(grad) * ctx.scale, None


def f(x):
    return Scaled.apply(x, 3.0)
""",
    """\
class Settings:
    scale = 2.0


def f(x):
    return x * Settings.scale
""",
    SPIKE
    + """\


def f(x):
    if Spike.scale is None:
        return x
    return x + 1
""",
    """\
import torch


class Kept(torch.autograd.Function):
    scale = 2.0

    @staticmethod
    def forward(ctx, x):
        ctx.scale = Kept.scale
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def f(x):
    return Kept.apply(x)
""",
)

#: What may be done with such an attribute without a value: it is passed on.
_KEEPS = (cst.Assign, cst.AnnAssign, cst.Return, cst.Tuple, cst.List, cst.Dict, cst.Element, cst.DictElement, cst.Arg)
_IDENTITY = (cst.Is, cst.IsNot)
#: What computes when it is called: libraries by the names that they have in most files, and functions of Python.
_LIBRARIES = ("torch", "F", "math", "np", "numpy")
_FUNCTIONS = ("abs", "enumerate", "float", "int", "len", "max", "min", "range", "reversed", "round", "sum", "zip")


def check_getattr(event: GetAttr) -> Hit | None:
    user = _user(event) if isinstance(event.receiver, Class) else None
    if user is None:
        return None
    resumes = event.site.whole_frame is not None or isinstance(user, (cst.Call, cst.Comparison, cst.Subscript))
    cost = consequence(event) if resumes else leaves_function(event)
    return Hit(
        event,
        f"{code(event)} is an attribute of an `autograd.Function`, which Dynamo does not look up",
        "keep the value in a module-level constant, or pass it to `apply`",
        certainty(event),
        consequence=cost,
    )


def _user(event: GetAttr) -> cst.CSTNode | None:
    """What needs the value of the attribute: the call that it is passed to, or the node around it."""
    for node in walk(event.site.statement):
        if isinstance(node, cst.Call) and any(arg.value is event.node for arg in node.args):
            return node if _computes(node.func) else None
        if any(child is event.node for child in children(node)) and not isinstance(node, cst.Arg):
            return node if _needs_value(node) else None
    return None


def _computes(function: cst.BaseExpression) -> bool:
    if isinstance(function, cst.Name):
        return function.value in _FUNCTIONS
    while isinstance(function, cst.Attribute):
        function = function.value
    return isinstance(function, cst.Name) and function.value in _LIBRARIES


def _needs_value(user: cst.CSTNode) -> bool:
    if isinstance(user, cst.Comparison):
        return not any(isinstance(c.operator, _IDENTITY) for c in user.comparisons)
    return not isinstance(user, _KEEPS)
