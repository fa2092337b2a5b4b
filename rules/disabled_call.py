"""A function is called that is kept out of compilation.

What: A call of a function under `@torch.compiler.disable` (or `torch._dynamo.disable`),
`torch._dynamo.graph_break()`, and a call of a module made by `torch.jit.script` or `torch.jit.trace`, or of a
method of an `autograd.Function` under `@torch.jit.script`.

Why: The graph ends at the call, which runs in Python; under `fullgraph=True` it is an error. A scripted
module leaves the calling function uncompiled.

Fix: Where the function only logs or checks, return early with `torch.compiler.is_compiling()` in place of
disabling it. Give a custom kernel to the compiler as an operator with `torch.library.custom_op` and a fake
implementation. Use the plain module in place of the scripted one: compiling replaces scripting.
"""

from __future__ import annotations

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.python.eager_only import guard_host
from graphdoctor.fixes.python.layers import compile_too, plain_module
from graphdoctor.static.domain.decorators import SCRIPTED_IN_AUTOGRAD_FUNCTION
from graphdoctor.static.domain.events import Call
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence

CODE = "GD508"
NAME = "disabled-call"
SEVERITY = "error"
GB_IDS = ("GB0098", "GB0099", "GB0025", "GB4695", "GB0008")
TORCH = ">=2.6"

SUGGESTIONS = {
    "torch.compiler.disable": "make it a custom operator with `torch.library.custom_op`, or call it outside",
    "torch._dynamo.disable": "make it a custom operator with `torch.library.custom_op`, or call it outside",
    "torch._dynamo.decorators.disable": "make it a custom operator with `torch.library.custom_op`, or call it outside",
    "torch._dynamo.graph_break": "remove it",
    "torch.jit.script": "use the plain module; compiling replaces scripting",
    "torch.jit.trace": "use the plain module; compiling replaces tracing",
    "torch.jit.load": "use the plain module; compiling replaces scripting",
    SCRIPTED_IN_AUTOGRAD_FUNCTION: "leave out `torch.jit.script`, or script a function outside the class",
}

BREAKS = (
    """\
import torch


@torch.compiler.disable
def log_mean(x):
    return x.mean()


def f(x):
    return x * log_mean(x)  # GB0098
""",
    """\
import torch


@torch.compiler.disable(recursive=False)
def log_mean(x):
    return x.mean()


def f(x):
    return x * log_mean(x)  # GB0099
""",
    """\
import torch


def f(x):
    y = x * 2
    torch._dynamo.graph_break()  # GB0025
    return y + 1
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.jit.script(nn.Linear(8, 8))

    def forward(self, x):
        return self.lin(x)  # GB4695
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.jit.trace(nn.Linear(8, 8), torch.rand(4, 8))

    def forward(self, x):
        return self.lin(x)  # GB0008
""",
)

CLEAN = (
    """\
import torch


def log_mean(x):
    if not torch.compiler.is_compiling():
        print(x.mean())


def f(x):
    log_mean(x)
    return x * 2
""",
    """\
import torch


@torch.compiler.disable
def log_mean(x):
    return x.mean()


def f(x):
    return x * 2
""",
    """\
import torch


@torch.compiler.allow_in_graph
def scale(x):
    return x * 2


def f(x):
    return scale(x) + 1
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.compile(nn.Linear(8, 8), backend="eager")

    def forward(self, x):
        return self.lin(x)
""",
    """\
import torch


@torch.jit.script
def scale(x):
    return x * 2


def f(x):
    return scale(x) + 1
""",
    """\
import torch


def f(x):
    if torch.jit.is_scripting() or torch.jit.is_tracing():
        return x
    return x * 2
""",
    """\
import torch


def scale(x):
    return x * 2


scripted, traced = torch.jit.script(scale), torch.jit.trace(scale, torch.rand(4, 8))


def f(x):
    return scripted(x) + traced(x) + 1
""",
)


def watches(name: str) -> bool:
    called = name.removesuffix(".__call__")
    return called in SUGGESTIONS and (called != name or name == "torch._dynamo.graph_break")


def check_call(event: Call) -> Hit | None:
    name = event.qualname.removesuffix(".__call__")
    return Hit(
        event,
        f"{code(event)} is kept out of compilation",
        SUGGESTIONS[name],
        certainty(event),
        consequence=consequence(event),
    )


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    return first_fit(hit, editor, _leave_out, compile_too, plain_module)


def _leave_out(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """Who keeps a function out of compilation wants it to run: only output is left out."""
    plan = guard_host(hit, editor)
    harmless = isinstance(plan, FixPlan) and plan.safety == "safe"
    return plan if harmless else Refusal("The function does more than output, so it must run under compile too.")
