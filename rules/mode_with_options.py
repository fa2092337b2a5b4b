"""`mode` and `options` together.

What: `torch.compile` with both `mode=` and `options=`.

Why: A mode is a set of options, and torch.compile raises RuntimeError when it gets both. `mode="reduce-overhead"` is
`options={"triton.cudagraphs": True}`; `torch._inductor.list_mode_options()` has the others.

Fix: Put what the mode stands for into `options`, or leave `options` out.
"""

from __future__ import annotations

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import COMPILE, MISSING, Use

from ._shared import code

CODE = "GD609"
NAME = "mode-with-options"
SEVERITY = "error"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch


def g(x):
    return x + 1


compiled = torch.compile(g, mode="max-autotune", options={"shape_padding": True})  # raises


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch


def g(x):
    return x + 1


compiled = torch.compile(g, mode=None, options={"max_autotune": True})


def f(x):
    return x * 2
""",
    """\
import torch


def g(x):
    return x + 1


compiled = torch.compile(g, mode="max-autotune", options=None)


def f(x):
    return x * 2
""",
)


def check_use(event: Use) -> Hit | None:
    step = event.step
    if step.name not in COMPILE or not {"mode", "options"} <= step.kwargs.keys():
        return None
    mode, options = step.kwargs["mode"].value, step.kwargs["options"]
    # A name may hold None.
    if mode is MISSING or mode is None or not options.entries:
        return None
    return Hit(event, f"{code(event)} raises: it gets both `mode` and `options`", "keep one of them")
