"""A compile time without the compilation.

What: A clock that is read before and after `torch.compile`, for a time that the program calls one of compiling, where
nothing in between calls what was compiled.

Why: `torch.compile` returns at once and compiles nothing; the first call does, and takes seconds or minutes. The time
is that of making a wrapper. A clock around the first call is the right one, and is not reported.

Fix: Call it once before the clock stops.
"""

from __future__ import annotations

import re

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import Timed

from ._shared import call_no_model, code, function_named, is_compilation, speaks_of

CODE = "GD630"
NAME = "compile-call-timed"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import time

import torch


def g(x):
    return x * 2


start = time.perf_counter()
compiled = torch.compile(g, backend="eager")
print("compile time:", time.perf_counter() - start)  # flagged
compiled(torch.rand(4))


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import time

import torch


def g(x):
    return x * 2


start = time.perf_counter()
compiled = torch.compile(g, backend="eager")
compiled(torch.rand(4))
print("compile time:", time.perf_counter() - start)


def f(x):
    return x * 2
""",
    """\
import time

import torch
import torch.nn as nn

start = time.perf_counter()
model = torch.compile(nn.Linear(8, 8), backend="eager")
print("setup took", time.perf_counter() - start)


def f(x):
    return model(x)
""",
    """\
import time

import torch


def warm_up(function):
    return function(torch.rand(4))


def g(x):
    return x * 2


start = time.perf_counter()
compiled = torch.compile(g, backend="eager")
warm_up(compiled)
print("compile time:", time.perf_counter() - start)


def f(x):
    return x * 2
""",
)

#: Words for the time that a compilation takes.
_COMPILE_TIME = re.compile(r"compil(?!ed|e\()")


def check_timed(event: Timed) -> Hit | None:
    start = next((n for n, step in enumerate(event.inside) if is_compilation(step)), None)
    if start is None or not call_no_model(event.inside[start:]):
        return None
    source, function = event.site.module, function_named(event)
    if not _COMPILE_TIME.search(speaks_of(event, source.text if function is None else source.code(function))):
        return None
    words = f"{code(event)} does not time the compilation: `torch.compile` returns at once, and the first call compiles"
    return Hit(event, words, "call the compiled function once before the clock stops")
