"""An exception is raised under a condition on tensor data.

What: An `if` on the contents of a tensor whose body only raises: a validation of values in the forward pass.

Why: Dynamo cannot know the contents, so it ends the graph at the condition, although the exception is
(nearly) never raised. On a GPU each such check also waits for the device.

Fix: Use an assertion that the graph can hold: `assert cond, "literal message"`, which Dynamo turns into
`torch._assert_async`; or validate the data before the compiled function. The exception type changes: a failed
check raises RuntimeError.
"""

from __future__ import annotations

import libcst as cst

from graphdoctor.fixes.branches.branch import rewrite_branch
from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.python.numpy_numbers import python_math
from graphdoctor.static.domain.events import Truth
from graphdoctor.static.domain.value_functions import may_be_tensor, tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence, only_raises

CODE = "GD202"
NAME = "tensor-guarded-raise"
SEVERITY = "error"
GB_IDS = ("GB0170",)
TORCH = ">=2.6"

BREAKS = (
    """\
import torch


def f(x):
    if torch.isnan(x).any():  # GB0170
        raise ValueError("input has NaN")
    return x.log()
""",
    """\
def f(x):
    if not (x > 0).all():  # GB0170
        raise ValueError(f"input of shape {x.shape} must be positive")
    return x.log()
""",
    """\
def check(t):
    if t.min() < 0 or t.max() > 100:  # GB0170
        raise ValueError("out of range")


def f(x):
    check(x)
    return x.log()
""",
)

CLEAN = (
    """\
import torch


def f(x):
    assert torch.isfinite(x).all(), "input has NaN"
    return x.log()
""",
    """\
import torch


def f(x):
    torch._assert_async(torch.isfinite(x).all(), "input has NaN")
    return x.log()
""",
    """\
def f(x):
    if x.shape[-1] != 8:
        raise ValueError(f"expected 8 features, got {x.shape[-1]}")
    return x.log()
""",
    """\
import torch


def f(x):
    if not torch.compiler.is_compiling() and torch.isnan(x).any():
        raise ValueError("input has NaN")
    return x.log()
""",
    """\
def f(x, mask=None):
    if mask is not None and mask.shape != x.shape:
        raise ValueError("mask and x differ in shape")
    return x.log()
""",
)


def check_truth(event: Truth) -> Hit | None:
    if not may_be_tensor(event.value) or not only_raises(event):
        return None
    return Hit(
        event,
        f"raise guarded by tensor data {code(event)}",
        _suggestion(event),
        certainty(event, event.value),
        consequence=consequence(event),
    )


def _suggestion(event: Truth) -> str:
    tensor = tensor_of(event.value)
    if tensor is not None and tensor.numpy:
        return "compute it from Python numbers with `math`, since what numpy computes is tensor data to Dynamo"
    branch = event.branch
    several = isinstance(branch, cst.If) and isinstance(branch.test, cst.BooleanOperation)
    for_each = ", one for each condition" if several else ""
    return (
        f'write `assert condition, "literal message"`{for_each} (a RuntimeError when it fails), or validate before the '
        "call"
    )


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    tensor = tensor_of(hit.event.value) if isinstance(hit.event, Truth) else None
    if tensor is not None and tensor.numpy:
        return first_fit(hit, editor, rewrite_branch, python_math)
    return rewrite_branch(hit, editor)
