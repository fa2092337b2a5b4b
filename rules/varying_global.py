"""A compiled function reads a number at module level that changes between calls.

What: An int or float bound at module level, read in compiled code, that a function declares `global` or that a loop at
module level binds anew.

Why: Dynamo guards on the value of the global. The second value compiles again, with a symbol in its place; where it
counts a loop or decides a branch, every value does.

Fix: Pass the number as a 0-d tensor argument, or keep it in a tensor and write it with `fill_`.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.static.domain.events import ReadGlobal
from graphdoctor.static.rule import Hit

from ._number_uses import INSTEAD, use_of
from ._shared import code, function_named

CODE = "GD706"
NAME = "varying-global"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch

scale = 1.0


@torch.compile(backend="eager")
def f(x):
    return x * scale  # flagged


for step in range(4):
    scale = 1.0 + step
    f(torch.rand(4, 8))
""",
    """\
import torch

SCALE = 1.0


def anneal():
    global SCALE
    SCALE = SCALE * 0.5


@torch.compile(backend="eager")
def f(x):
    return x * SCALE  # flagged


f(torch.rand(4, 8))
anneal()
f(torch.rand(4, 8))
""",
)

CLEAN = (
    """\
import torch

SCALE = 1.0


@torch.compile(backend="eager")
def f(x):
    return x * SCALE


for step in range(4):
    f(torch.rand(4, 8))
""",
    """\
import torch

SCALE = torch.tensor(1.0)


@torch.compile(backend="eager")
def f(x):
    return x * SCALE


for step in range(4):
    SCALE.fill_(step)
    f(torch.rand(4, 8))
""",
    """\
import torch

calls = 0


@torch.compile(backend="eager")
def f(x):
    return x * 2


for step in range(4):
    calls = calls + 1
    f(torch.rand(4, 8))
""",
)


def check_readglobal(event: ReadGlobal) -> Hit:
    function = function_named(event)
    bodies = [function.body] if function is not None else []
    use = use_of(bodies, lambda node: type(node) is cst.Name and node.value == event.name)
    return Hit(
        event,
        f"{code(event)} is a number that changes between calls, and another value compiles again",
        INSTEAD.get(use, "pass it as a 0-d tensor, or keep it in a tensor and write it with `fill_`"),
        "likely",
    )
