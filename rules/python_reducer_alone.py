"""`optimize_ddp="python_reducer"` without compiled autograd.

What: `torch._dynamo.config.optimize_ddp = "python_reducer"` in a file that does not mention compiled autograd.

Why: This experimental reducer is made for compiled autograd, which then fuses the communication into the backward
graph. Without it the gradients are reduced one parameter at a time (torch 2.13 on the CPU with two processes: the
same gradients, no error).

Fix: `torch._dynamo.config.compiled_autograd = True`, or `torch._dynamo.utils.maybe_enable_compiled_autograd(True)`
around forward and backward.
"""

from __future__ import annotations

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import Setting

from ._shared import code

CODE = "GD619"
NAME = "python-reducer-alone"
SEVERITY = "info"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch
import torch._dynamo


def main():
    torch._dynamo.config.optimize_ddp = "python_reducer"  # flagged


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch
import torch._dynamo


def main():
    torch._dynamo.config.optimize_ddp = "python_reducer"
    torch._dynamo.config.compiled_autograd = True


def f(x):
    return x * 2
""",
    """\
import torch
import torch._dynamo


def main():
    torch._dynamo.config.optimize_ddp = False


def f(x):
    return x * 2
""",
)


def check_setting(event: Setting) -> Hit | None:
    if event.name != "torch._dynamo.config.optimize_ddp" or event.tracked.value != "python_reducer":
        return None
    if "compiled_autograd" in event.site.module.text:
        return None
    words = f"{code(event)} is set to the Python reducer without compiled autograd, for which it is made"
    return Hit(event, words, "set `torch._dynamo.config.compiled_autograd = True`", "likely")
