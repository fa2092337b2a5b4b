"""The clock is read in compiled code.

What: The functions of `time`, `datetime.now` and its relatives, `datetime` and `timedelta` objects,
`timeit.default_timer`.

Why: Dynamo traces none of them: each call splits the graph. What is measured is not the time of the operators
either, because their kernels run later, fused and reordered, and on a GPU asynchronously.

Fix: Measure around the call of the compiled model, with `torch.utils.benchmark` or `torch.profiler`.
"""

from __future__ import annotations

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.python.eager_only import guard_host
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.torch_tables import within
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence

CODE = "GD402"
NAME = "clock"
SEVERITY = "error"
GB_IDS = ("GB0007", "GB0156", "GB0147")
TORCH = ">=2.6"

CLOCKS = frozenset({"time", "datetime", "timeit"})
#: They read no clock, but are no type that Dynamo knows.
_SPANS = frozenset({"datetime.timedelta"})

BREAKS = (
    """\
import time


def f(x):
    start = time.perf_counter()  # GB0007
    return x * 2
""",
    """\
from time import sleep


def f(x):
    sleep(0.001)  # GB0007
    return x * 2
""",
    """\
# torch >=2.13
import datetime


def f(x):
    now = datetime.datetime.now()  # GB0156
    return x * 2
""",
    """\
from datetime import timedelta


def f(x):
    limit = timedelta(seconds=1)  # GB0147
    return x * 2
""",
    """\
from datetime import timedelta

LEAD = timedelta(hours=6)


def f(x):
    return x * LEAD.total_seconds()  # GB0156
""",
)

CLEAN = (
    """\
import time

START = time.time()


def f(x):
    return x * 2
""",
    """\
import time

import torch


def f(x):
    if not torch.compiler.is_compiling():
        start = time.perf_counter()
    return x * 2
""",
    """\
def f(x):
    time = x.mean()
    return x * time
""",
    """\
import torch


def f(x):
    with torch.profiler.record_function("double"):
        return x * 2
""",
    """\
import time

import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.created = time.time()

    def forward(self, x):
        return x * 2
""",
    """\
from datetime import timedelta

HOURS = timedelta(hours=6) / timedelta(hours=1)


def f(x):
    return x * HOURS
""",
)


def watches(name: str) -> bool:
    return within(name, CLOCKS)


def check_call(event: Call) -> Hit | None:
    if within(event.qualname, _SPANS):
        return Hit(
            event,
            f"{code(event)} computes with a span of time, whose type Dynamo does not trace",
            "pass the number of seconds to the compiled function",
            certainty(event),
            consequence=consequence(event),
        )
    return Hit(
        event,
        f"{code(event)} reads the clock",
        "measure around the call of the compiled function",
        certainty(event),
        consequence=consequence(event),
    )


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    if isinstance(hit.event, Call) and within(hit.event.qualname, _SPANS):
        return Refusal("The caller gives another argument, or the constant becomes a number.")
    return first_fit(hit, editor, guard_host)
