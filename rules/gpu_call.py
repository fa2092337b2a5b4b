"""A call that steers or marks the work of a GPU, in compiled code.

What: `torch.cuda.set_device`, `torch.cuda.cudart`, ranges of `torch.cuda.nvtx` and nvtx, `elapsed_time` of an event,
`torch.cuda.synchronize` on torch 2.9 to 2.11, `nn.DataParallel` and the functions that it rests on; `x.pin_memory()`,
which raises.

Why: Such a call gives no tensor that a graph could hold, so Dynamo splits the graph at it (seen on an H200 with torch
2.11). `nvtx.mark`, streams, events and `torch.cuda.empty_cache` are traced. Pinning has no fake implementation:
compiling raises, in the default mode as well.

Fix: Choose the device, mark the range and wait around the compiled call, or leave the mark out under compile:
`if not torch.compiler.is_compiling():`. Pin what the loader gives (`DataLoader(pin_memory=True)`), or make it with
`torch.empty(..., pin_memory=True)`. Use `DistributedDataParallel` in place of `nn.DataParallel`.
"""

from __future__ import annotations

from graphdoctor.fixes.branches.choose import first_fit
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.python.eager_only import guard_host
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.value_functions import is_sure_tensor
from graphdoctor.static.rule import FixPlan, Hit, Refusal

from ._shared import certainty, code, consequence

CODE = "GD517"
NAME = "gpu-call"
SEVERITY = "error"
GB_IDS = ("GB0007",)
TORCH = ">=2.6"

_MARKS = "mark the range around the compiled call, or put it under `if not torch.compiler.is_compiling():`"
_PROFILE = "start and stop the profiler around the compiled call"
_SEVERAL = "use `DistributedDataParallel`, which is made outside the compiled code"
#: What to do in place of each. Seen to break on a GPU with torch 2.11; the sources of 2.13 and 2.15 treat them alike.
ADVICE = {
    "torch.cuda.set_device": "choose the device before the compiled call",
    "torch.cuda.synchronize": "wait after the compiled call",
    "torch.cuda.cudart": _PROFILE,
    "torch.cuda.nvtx.range_push": _MARKS,
    "torch.cuda.nvtx.range_pop": _MARKS,
    "torch.cuda.nvtx.range_start": _MARKS,
    "torch.cuda.nvtx.range.__call__": _MARKS,
    **{f"nvtx.{name}": _MARKS for name in ("push_range", "pop_range", "start_range", "mark")},
    "torch.cuda.Event.elapsed_time": "time around the compiled call",
    "torch.Event.elapsed_time": "time around the compiled call",
    "torch.nn.DataParallel.forward": _SEVERAL,
    "torch.nn.parallel.data_parallel": _SEVERAL,
    "torch.nn.parallel.scatter": _SEVERAL,
    "torch.nn.parallel.scatter_gather.scatter": _SEVERAL,
}
#: Those that break on some versions of torch only: `trace_rules.py` has the functions that a graph may hold.
ON_SOME = {"torch.cuda.synchronize": ">=2.9,<2.12"}
PIN = "torch.Tensor.pin_memory"

BREAKS = (
    """\
import torch


def f(x):
    torch.cuda.set_device(-1)  # GB0007
    return x * 2
""",
    """\
def f(x):
    pinned = x.pin_memory()  # raises
    return pinned * 2
""",
)

CLEAN = (
    """\
import torch


def f(x):
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return x * 2
""",
    """\
import torch


def f(x):
    with torch.profiler.record_function("scale"):
        return x * 2
""",
    """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            return (x @ x.t()).to(x.device, non_blocking=True)
""",
)


def watches(name: str) -> bool:
    return name in ADVICE or name == PIN


def check_call(event: Call) -> Hit | None:
    if event.qualname == PIN:
        if event.receiver is None or not is_sure_tensor(event.receiver):
            return None
        advice = "pin it before the compiled call: `DataLoader(pin_memory=True)`, `torch.empty(pin_memory=True)`"
        return Hit(event, f"{code(event)} raises when it is compiled", advice, certainty(event, event.receiver))
    if event.site.entering:
        # The call that compiled code begins with is not in a graph that it could split.
        return None
    called = f"{code(event)} is not traced"
    if event.qualname.endswith(".forward"):
        # The name of the object does not show what it is.
        module = event.qualname.removesuffix(".forward").removeprefix("torch.")
        called = f"{code(event)} calls an `{module}`, which is not traced"
    return Hit(
        event,
        called,
        ADVICE[event.qualname],
        certainty(event),
        torch=ON_SOME.get(event.qualname, ""),
        consequence=consequence(event),
    )


def fix(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    if isinstance(hit.event, Call) and ADVICE.get(hit.event.qualname) == _SEVERAL:
        return Refusal("The call computes what the code after it needs.")
    return first_fit(hit, editor, guard_host)
