"""CUDA graphs beside `dynamic=True`.

What: `torch.compile(dynamic=True)` with a mode that uses CUDA graphs (`reduce-overhead`, `max-autotune`) or with
`options={"triton.cudagraphs": True}`. The mode may be the default of an option that `argparse` reads.

Why: A CUDA graph is recorded for fixed addresses and sizes. With dynamic shapes torch records one for each size that
occurs, which takes time and memory each time: five for five sizes on an H100 with torch 2.11, and in torch 2.13
`triton.cudagraph_skip_dynamic_graphs` is off as well. Without CUDA graphs `dynamic=True` is not reported.

Fix: `mode="max-autotune-no-cudagraphs"`, or fixed sizes: `dynamic=False` and inputs padded to a few lengths.
"""

from __future__ import annotations

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import COMPILE, TrackedObject, Use, backend

from ._shared import RECORDING, code, records_cuda_graphs

CODE = "GD613"
NAME = "dynamic-cuda-graphs"
SEVERITY = "info"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch


def g(x):
    return x + 1


compiled = torch.compile(g, mode="reduce-overhead", dynamic=True)  # flagged


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch


def g(x):
    return x + 1


compiled = torch.compile(g, mode="max-autotune-no-cudagraphs", dynamic=True)


def f(x):
    return x * 2
""",
    """\
import torch


def g(x):
    return x + 1


compiled = torch.compile(g, mode="reduce-overhead", dynamic=False)


def f(x):
    return x * 2
""",
)


def check_use(event: Use) -> Hit | None:
    step = event.step
    if step.name not in COMPILE or step.option("dynamic") is not True or backend(step) != "inductor":
        return None
    default = _default(step.kwargs.get("mode"))
    if not records_cuda_graphs(step) and default not in RECORDING:
        return None
    words = f"{code(event)} records a CUDA graph for each size that occurs"
    advice = 'use `mode="max-autotune-no-cudagraphs"`, or fixed sizes'
    return Hit(event, words, advice, "likely" if default in RECORDING else "certain")


def _default(tracked: TrackedObject | None) -> object:
    """What an option of a command line is where it is not given: ``args.mode`` of a parser that the file makes."""
    read = tracked.owner.maker if tracked is not None and tracked.owner is not None else None
    parser = read.receiver if read is not None and read.name == ".parse_args" else None
    if tracked is None or parser is None:
        return None
    for step in parser.steps:
        flag = step.argument(0) if step.name == ".add_argument" else None
        if flag is not None and f".{str(flag.value).lstrip('-').replace('-', '_')}" == tracked.name:
            return step.option("default")
    return None
