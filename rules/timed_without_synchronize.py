"""The clock is read while the GPU still works.

What: A clock around the call of a compiled model that the file moves to `cuda`, with nothing in between that waits
for the GPU: `torch.cuda.synchronize()`, `.item()`, `.cpu()`, `.tolist()`, `.numpy()`, `print` or a CUDA event.

Why: A call on the GPU returns when its kernels are queued. The clock then shows how fast Python can queue them, and
compiled code looks faster than it is. (The effect needs a GPU and is not measured here.)

Fix: `torch.cuda.synchronize()` before each reading of the clock, or CUDA events, or `triton.testing.do_bench`.
"""

from __future__ import annotations

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import Timed

from ._shared import code, device_of

CODE = "GD624"
NAME = "timed-without-synchronize"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import time

import torch
import torch.nn as nn


def main(batch):
    model = torch.compile(nn.Linear(8, 8).to("cuda"))
    model(batch)
    start = time.time()
    model(batch)
    return time.time() - start  # flagged


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import time

import torch
import torch.nn as nn


def main(batch):
    model = torch.compile(nn.Linear(8, 8).cuda())
    model(batch)
    torch.cuda.synchronize()
    start = time.time()
    model(batch)
    torch.cuda.synchronize()
    return time.time() - start


def f(x):
    return x * 2
""",
    """\
import time

import torch
import torch.nn as nn


def main(batch):
    model = torch.compile(nn.Linear(8, 8))
    model(batch)
    start = time.time()
    model(batch)
    return time.time() - start


def f(x):
    return x * 2
""",
    """\
import time

import torch
import torch.nn as nn


def main(batch, loss_of):
    model = torch.compile(nn.Linear(8, 8).cuda())
    model(batch)
    start = time.time()
    loss_of(model(batch))
    return time.time() - start


def f(x):
    return x * 2
""",
)


def check_timed(event: Timed) -> Hit | None:
    calls = [
        s for s in event.inside if s.name == ".__call__" and s.receiver is not None and device_of(s.receiver) == "cuda"
    ]
    # Any other call may wait; what a helper does that was followed is among the calls.
    others = [s for s in event.inside if s.name != "range" and not s.followed and s not in calls]
    if event.waits or others or not any(s.receiver and s.receiver.find("torch.compile", ".compile") for s in calls):
        return None
    words = f"{code(event)}: nothing waits for the GPU between the two readings"
    return Hit(event, words, "call `torch.cuda.synchronize()` before each reading", "likely")
