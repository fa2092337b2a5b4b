"""A dimension is marked as dynamic inside the compiled function.

What: `torch._dynamo.mark_dynamic` or `torch._dynamo.maybe_mark_dynamic` in code that is compiled.

Why: What varies must be known before the graph is traced, and Dynamo raises AssertionError where it meets the call.
`mark_static` is allowed inside.

Fix: Call it before the compiled function, on the tensors that it gets.
"""

from __future__ import annotations

from graphdoctor.static.domain.events import Call
from graphdoctor.static.rule import Hit

from ._shared import certainty, code

CODE = "GD622"
NAME = "mark-dynamic-inside"
SEVERITY = "error"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch


def f(x):
    torch._dynamo.mark_dynamic(x, 0)  # raises
    return x * 2
""",
)

CLEAN = (
    """\
import torch
import torch._dynamo


def f(x):
    return x * 2


def graphdoctor_target():
    x = torch.rand(4, 8)
    torch._dynamo.mark_dynamic(x, 0)
    return f, (x,)
""",
    """\
import torch
import torch._dynamo


def f(x):
    torch._dynamo.mark_static(x, 0)
    return x * 2
""",
)


_MARKS = ("torch._dynamo.mark_dynamic", "torch._dynamo.maybe_mark_dynamic")


def watches(name: str) -> bool:
    return name in _MARKS


def check_call(event: Call) -> Hit | None:
    if event.site.assumed:
        # Who marks sizes in a forward pass compiles what that calls.
        return None
    words = f"{code(event)} raises AssertionError while the function is traced"
    return Hit(event, words, "call it before the compiled function", certainty(event))
