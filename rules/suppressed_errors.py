"""Errors of the compiler that nobody is told of.

What: `torch._dynamo.config.suppress_errors = True`, without a condition.

Why: What fails to compile then runs in eager, where it would raise without the setting; a warning in the log is all
that says so. The setting holds for the whole process, also for what compiled before a change broke it. With
`fullgraph=True`, errors are raised all the same. A setting that an option or an `except` asks for is not reported.

Fix: Leave it out, at least in tests; where a program must go on, compile with `fullgraph=True` in a test of the model.
"""

from __future__ import annotations

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import Setting

from ._shared import code

CODE = "GD635"
NAME = "suppressed-errors"
SEVERITY = "info"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch
import torch._dynamo

torch._dynamo.config.suppress_errors = True  # flagged


def f(x):
    return x * 2
""",
    """\
import torch
import torch._dynamo as dynamo


def main(model, x):
    dynamo.config.suppress_errors = True  # flagged
    return torch.compile(model)(x)


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch
import torch._dynamo

torch._dynamo.config.suppress_errors = False


def f(x):
    return x * 2
""",
    """\
import torch
import torch._dynamo


def main(args, model):
    if args.keep_going:
        torch._dynamo.config.suppress_errors = True
    torch._dynamo.config.suppress_errors = args.suppress
    return torch.compile(model)


def f(x):
    return x * 2
""",
    """\
import torch
import torch._dynamo


def main(model, x):
    try:
        return torch.compile(model)(x)
    except RuntimeError:
        torch._dynamo.config.suppress_errors = True
        return torch.compile(model)(x)


def f(x):
    return x * 2
""",
)


def check_setting(event: Setting) -> Hit | None:
    if event.name != "torch._dynamo.config.suppress_errors" or event.tracked.value is not True or event.site.guards:
        return None
    return Hit(
        event,
        f"with {code(event)}, what fails to compile runs in eager, and only a warning in the log says so",
        "leave it out, at least in tests; `fullgraph=True` raises all the same",
    )
