"""A measurement includes the compilation.

What: A clock that is read, or an event of the GPU that is recorded, before and after the first call of a compiled
function, which nothing called before.

Why: `torch.compile` itself compiles nothing; the first call does, and takes seconds or minutes. The mean over a loop
includes it too. A clock that starts inside the loop gives each call its own time, and is not reported; nor is one
whose output or function speaks of compilation, a warm-up or the first call, one in a function whose caller drops the
time, which warms up, or one around a whole run: it builds, prints, logs or saves, or it trains and its time is not
divided by anything.

Fix: Call it a few times before the clock starts, once for each shape that is measured; or use
`torch.utils.benchmark.Timer`.
"""

from __future__ import annotations

import re

import libcst as cst

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import Operation, Timed, same_run
from graphdoctor.syntax.walk import find, walk

from ._shared import assigned, code, function_named, speaks_of

CODE = "GD623"
NAME = "first-call-timed"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import time

import torch


@torch.compile(backend="eager")
def g(x):
    return x * 2


start = time.perf_counter()
for _ in range(3):
    g(torch.rand(4))
print(time.perf_counter() - start)  # flagged


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import time

import torch


@torch.compile(backend="eager")
def g(x):
    return x * 2


def logged(x):
    start = time.perf_counter()
    y = g(x)
    print(time.perf_counter() - start)
    return y


def f(x):
    return x * 2
""",
    """\
import time

import torch


@torch.compile(backend="eager")
def g(x):
    return x * 2


g(torch.rand(4))
start = time.perf_counter()
g(torch.rand(4))
print(time.perf_counter() - start)


def f(x):
    return x * 2
""",
    """\
import time

import torch


@torch.compile(backend="eager")
def g(x):
    return x * 2


times = []
for _ in range(3):
    start = time.perf_counter()
    g(torch.rand(4))
    times.append(time.perf_counter() - start)


def f(x):
    return x * 2
""",
    """\
import time

import torch


@torch.compile(backend="eager")
def g(x):
    return x * 2


start = time.perf_counter()
g(torch.rand(4))
print("compile time", time.perf_counter() - start)


def f(x):
    return x * 2
""",
    """\
import sys
import time

import torch


@torch.compile(backend="eager", disable="--eager" in sys.argv)
def g(x):
    return x * 2


start = time.perf_counter()
g(torch.rand(4))
print(time.perf_counter() - start)


def f(x):
    return x * 2
""",
)


#: Words of those who know what they measure.
_AWARE = re.compile("compil(?!ed)|warm|first|cold")


def check_timed(event: Timed) -> Hit | None:
    if (
        event.looped
        or _is_whole_run(event)
        or _is_warm_up(event)
        or _AWARE.search(event.site.function.lower())
        or _AWARE.search(speaks_of(event, event.site.module.text))
    ):
        return None
    for step in event.inside:
        made = _compiled_call(step)
        # What was compiled elsewhere may have been called since.
        here = made is not None and made.order > event.since
        if made is not None and here and not any(_touches(earlier, step) for earlier in event.before):
            sure = same_run(made.path, step.path)
            words = f"{code(event)} includes the first call of a compiled function, which compiles it"
            return sure and Hit(event, words, "call it before the clock starts", "likely")
    return None


def _is_warm_up(event: Timed) -> bool:
    """Whether the caller drops the time, and the function only gives it back."""
    function = function_named(event)
    if not event.unused or function is None:
        return False
    name, returned = assigned(event), find(function.body, cst.Return)
    if not name:
        return any(event.node in list(walk(each)) for each in returned)
    uses = sum(_count(each, name) for each in returned)
    # One more is where it is assigned.
    return 0 < uses == _count(function.body, name) - 1


def _count(node: cst.CSTNode, name: str) -> int:
    return sum(each.value == name for each in find(node, cst.Name))


def _is_whole_run(event: Timed) -> bool:
    """Whether the clock times a whole run, whose compilation is part of it, and not calls.

    It builds, saves or reports something, or it is a training of which the total is of interest, and no rate.
    """
    if any(_builds_or_reports(step) for step in event.inside):
        return True
    trains = {".backward", ".step"} <= {step.name for step in event.inside}
    return trains and "/" not in speaks_of(event, event.site.module.text)


#: What shows how far a run is, as a function or a method of a logger.
_REPORTS = frozenset((
    "print", "debug", "info", "log", "warning", "error", "critical", "log_dict", "log_metrics", "add_scalar",
))  # fmt: skip


def _builds_or_reports(step: Operation) -> bool:
    last = step.name.rpartition(".")[2]
    if step.name.startswith("torch.optim.") or last.endswith("DataLoader") or step.name == "torch.compile":
        return True
    # ``torch.log`` is another one.
    return last.startswith("save") or (last in _REPORTS and not step.name.startswith("torch."))


def _compiled_call(step: Operation) -> Operation | None:
    """What compiled the object that ``step`` calls."""
    if step.name != ".__call__" or step.receiver is None:
        return None
    made = step.receiver.find("torch.compile", ".compile")
    # A switch that is not known may leave it uncompiled.
    switched = made is not None and "disable" in made.kwargs and made.option("disable") is not False
    return None if switched else made


def _touches(earlier: Operation, step: Operation) -> bool:
    """Whether ``earlier`` called the same object, or handed it to a function that may have and was not followed."""
    if earlier.followed or earlier.name == "functools.partial":
        return False
    number = step.receiver.number if step.receiver is not None else 0
    arguments = (*earlier.args, *earlier.kwargs.values(), *(item for arg in earlier.args for item in arg.items))
    called = earlier.name == ".__call__" and earlier.receiver is not None and earlier.receiver.number == number
    return called or any(tracked.number == number for tracked in arguments)
