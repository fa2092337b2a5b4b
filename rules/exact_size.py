"""Code that is compiled for varying sizes depends on one exact size.

What: `range(x.shape[0])`, a `for` over a tensor, or `x.shape[0] == 3`, in a file that compiles with `dynamic=True`,
marks a dimension as dynamic, or whose `graphdoctor_variants()` differ in size.

Why: What is compiled holds for the sizes that it was compiled for: a loop over a size is unrolled, and each new size
compiles again; a comparison compiles once for each answer, and with a number that changes from call to call, such as
the last length, each time. With `mark_dynamic` both raise a ConstraintViolationError where the size is made a constant.

Fix: Work on the whole tensor in place of a loop: a batched operator, `torch.cumsum`, `torch.vmap`. Decide by size in
the code that calls the compiled function, or pad to a few sizes. Compute a table that is kept for the last length once,
in `__init__`, for the greatest length, and cut it to the length of each call.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.static.domain.events import Specialise
from graphdoctor.static.rule import Hit

from ._shared import code, in_assert

CODE = "GD703"
NAME = "exact-size"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

WORDING = {
    "range": "unrolls a loop over a size: each new size recompiles",
    "iterate": "unrolls a loop over a tensor: each new size recompiles",
    "compare": "compares a size: one compilation for each answer",
}

ADVICE = {
    "range": "work on the whole tensor, or pad to a few sizes before the call",
    "iterate": "work on the whole tensor, or pad to a few sizes before the call",
    "compare": "decide before the call; make what is rebuilt for each size once in `__init__`, for the largest size",
}

VARIANTS = """

def graphdoctor_target():
    import torch

    return f, (torch.rand(4, 8),)


def graphdoctor_variants():
    import torch

    return [(torch.rand(4, 8),), (torch.rand(5, 8),), (torch.rand(6, 8),), (torch.rand(7, 8),)]
"""

BREAKS = (
    """\
def f(x):
    total = x[0]
    for row in range(x.shape[0]):  # flagged
        total = total + x[row]
    return total
"""
    + VARIANTS,
    """\
def f(x):
    total = x[0]
    for row in x:  # flagged
        total = total + row
    return total
"""
    + VARIANTS,
    """\
import torch


@torch.compile(backend="eager", dynamic=True)
def f(x):
    if x.shape[0] == 6:  # flagged
        return x + 1
    return x * 2


f(torch.rand(4, 8))
f(torch.rand(6, 8))
""",
)

CLEAN = (
    """\
import torch


@torch.compile(backend="eager", dynamic=True)
def f(x):
    return x.cumsum(0) * x.shape[0]


f(torch.rand(4, 8))
f(torch.rand(6, 8))
""",
    """\
def f(x):
    total = x[0]
    for row in range(x.shape[0]):
        total = total + x[row]
    return total
""",
    """\
def f(x):
    if x.shape[0] == 4:
        return x + 1
    return x * 2
""",
    """\
import torch


@torch.compile(backend="eager", dynamic=True)
def f(x):
    assert x.shape[1] == 8
    if x.shape[1] != 8:
        raise ValueError("eight columns")
    return x * 2


f(torch.rand(4, 8))
f(torch.rand(6, 8))
""",
    """\
import torch


@torch.compile(backend="eager", dynamic=True)
def f(x):
    for power in range(3):
        x = x * 2
    return x if x.ndim == 2 else x[0]


f(torch.rand(4, 8))
f(torch.rand(6, 8))
""",
)


def check_specialise(event: Specialise) -> Hit | None:
    if event.site.assumed:
        return None
    if event.how == "compare" and (in_assert(event) or _only_checks(event)):
        # The other answer is an error, and no compilation.
        return None
    return Hit(event, f"{code(event)} {WORDING[event.how]}", ADVICE[event.how], "likely")


def _only_checks(event: Specialise) -> bool:
    """Whether the comparison is the test of an ``if`` that only raises, whatever is asked besides."""
    statement = event.site.statement
    return isinstance(statement, cst.If) and statement.orelse is None and _raises(statement)


def _raises(statement: cst.If) -> bool:
    """Whether the first arm raises, or asks whether to: ``if raises: raise ... else: return False``."""
    last = statement.body.body[-1] if statement.body.body else None
    if isinstance(last, cst.If):
        return _raises(last)
    return isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Raise)
