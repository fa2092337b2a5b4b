"""A default that eager code fills in is skipped while compiling, and the None is used.

What: `if mask is None and not torch.compiler.is_compiling(): mask = ...`, and further on `mask.shape` or `mask[...]`
without another test for None.

Why: While Dynamo traces, `is_compiling()` is true, so the default is never made. The code after it raises on None,
but only under compile: Dynamo meets the exception in its trace, drops the function and runs it in Python.

Fix: Drop `and not is_compiling()` where the default can be traced, as nearly all can; or pass the argument.
"""

from __future__ import annotations

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.python.defaults import make_default
from graphdoctor.static.domain.events import GetAttr, Subscript
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import SkippedDefault, Value
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import code, consequence

CODE = "GD511"
NAME = "none-under-compile"
SEVERITY = "error"
GB_IDS = ("GB0088",)
TORCH = ">=2.6"

BREAKS = (
    """\
# torch >=2.9
import torch


def f(x, mask=None):
    if mask is None and not torch.compiler.is_compiling():
        mask = torch.ones_like(x)
    return x * mask[:, 0:1]  # GB0088


def graphdoctor_target():
    return f, (torch.rand(4, 8),)
""",
    """\
# torch >=2.11
import torch


def rows(mask):
    return mask.shape[0]  # GB0088


def f(x, mask=None):
    if mask is None and not torch.compiler.is_compiling():
        mask = torch.ones_like(x)
    return x * rows(mask)


def graphdoctor_target():
    return f, (torch.rand(4, 8),)
""",
)

CLEAN = (
    """\
import torch


def f(x, mask=None):
    if mask is None:
        mask = torch.ones_like(x)
    return x * mask[:, 0:1]


def graphdoctor_target():
    return f, (torch.rand(4, 8),)
""",
    """\
import torch


def f(x, mask=None):
    if mask is None and not torch.compiler.is_compiling():
        mask = torch.ones_like(x)
    if mask is not None:
        x = x * mask[:, 0:1]
    return x


def graphdoctor_target():
    return f, (torch.rand(4, 8),)
""",
    """\
import torch


def f(x, mask=None):
    if mask is None and not torch.compiler.is_compiling():
        mask = torch.ones_like(x)
    return x * mask[:, 0:1]


def graphdoctor_target():
    return f, (torch.rand(4, 8), torch.ones(4, 8))
""",
)


def check_getattr(event: GetAttr) -> Hit | None:
    return _hit(event, event.receiver)


def check_subscript(event: Subscript) -> Hit | None:
    return _hit(event, event.receiver)


def _hit(event: GetAttr | Subscript, receiver: Value) -> Hit | None:
    if not any(isinstance(option, SkippedDefault) for option in options(receiver)):
        return None
    return Hit(
        event,
        f"{code(event)} uses a value that is None under compile, where its default is left out",
        "set the default while compiling too: drop `and not is_compiling()`",
        "likely",
        consequence=consequence(event),
    )


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    return first_fit(hit, editor, make_default)
