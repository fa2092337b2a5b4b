"""A warning is issued in compiled code.

What: `warnings.warn`, `warnings.simplefilter`, `warnings.filterwarnings` and Lightning's `rank_zero_warn`.

Why: The warnings machinery is Python state outside the graph. Dynamo splits the graph at each call, also when
the warning is filtered out or was already shown. Inside `with warnings.catch_warnings():` nothing of the
function is compiled.

Fix: Check and warn once in `__init__`, or put the call under `if not torch.compiler.is_compiling():`. Set
filters in the program that runs the model.
"""

from __future__ import annotations

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.python.guard import guard_statement
from graphdoctor.static.domain.events import Call
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence

CODE = "GD104"
NAME = "warnings-warn"
SEVERITY = "error"
GB_IDS = ("GB0007", "GB0092")
TORCH = ">=2.6"

WARNERS = ("warn", "warn_explicit", "simplefilter", "filterwarnings", "resetwarnings")

BREAKS = (
    """\
import warnings


def f(x):
    h = x.relu()
    warnings.warn("deprecated", FutureWarning)  # GB0007
    return h * 2
""",
    """\
import warnings


def f(x):
    warnings.filterwarnings("ignore")  # GB0007
    return x * 2
""",
    """\
import warnings


def f(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # GB0007 GB0092
        return x * 2
""",
    """\
import warnings

import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.warned = False

    def forward(self, x):
        if not self.warned:
            warnings.warn("only once, but it breaks once")  # GB0007
            self.warned = True
        return x * 2
""",
)

CLEAN = (
    """\
import warnings

import torch


def f(x):
    if not torch.compiler.is_compiling():
        warnings.warn("deprecated", FutureWarning)
    return x * 2
""",
    """\
import warnings

import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        warnings.warn("Net is deprecated", FutureWarning)

    def forward(self, x):
        return x * 2
""",
    """\
import warnings


def f(x):
    with warnings.catch_warnings():
        return x * 2
""",
    """\
import warnings


def f(x, old_argument=None):
    if old_argument is not None:
        warnings.warn("old_argument is deprecated")
    return x * 2


def graphdoctor_target():
    import torch

    return f, (torch.rand(4, 8), None)
""",
    """\
def f(x):
    warnings = ["a list of that name"]
    warnings.append("b")
    return x * 2
""",
)


def watches(name: str) -> bool:
    module, _, last = name.rpartition(".")
    return (module == "warnings" and last in WARNERS) or last == "rank_zero_warn"


def check_call(event: Call) -> Hit | None:
    return Hit(
        event,
        f"{code(event)} issues a warning or changes the filters",
        "put it under `if not torch.compiler.is_compiling():`, or warn once in `__init__`",
        certainty(event),
        consequence=consequence(event),
    )


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    return guard_statement(hit, editor)
