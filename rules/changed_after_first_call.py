"""A compiled model is moved, converted, sharded or quantised after it was called.

What: A compiled model that is called, and then gets `.half()`, `.bfloat16()`, `.double()`, `.cuda()`, `.to(...)`,
`fully_shard`, `quantize_` or `quantize_dynamic`.

Why: The graph was compiled for what the model was, and the next call compiles it again. `torch.compile` itself
compiles nothing, so the order of these lines does not matter before the first call, and there it is not reported.
`fully_shard` on the result of `torch.compile` leaves the compiled call as it is, and is not reported either.

Fix: Do it before the first call; the customary order is quantise, shard, compile.
"""

from __future__ import annotations

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import FULLY_SHARD, Operation, TrackedObject, Use, same_run, unwrapped
from graphdoctor.static.usage.known_calls import QUANTISE

from ._compiled import called_model
from ._shared import code

CODE = "GD607"
NAME = "changed-after-first-call"
SEVERITY = "warning"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch
import torch.nn as nn

model = torch.compile(nn.Linear(8, 8), backend="eager")
model(torch.rand(4, 8))
model.double()  # flagged
model(torch.rand(4, 8).double())


def f(x):
    return x * 2
""",
    """\
import torch


def main(net, batch):
    from torchao.quantization import Int8WeightOnlyConfig, quantize_

    model = torch.compile(net)
    model(batch)
    quantize_(model, Int8WeightOnlyConfig())  # flagged
    return model(batch)


def f(x):
    return x * 2
""",
    """\
import torch
from torch.distributed.fsdp import fully_shard


def prepare(net):
    fully_shard(net)  # flagged


def main(net, batch):
    model = torch.compile(net)
    model(batch)
    prepare(net)
    return model(batch)


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch
import torch.nn as nn


def train(model, device):
    model = torch.compile(model, backend="eager")
    model(torch.rand(4, 8))
    model.to(device)
    model.to("cpu")
    return model(torch.rand(4, 8))


train(nn.Linear(8, 8), "cpu")


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn

model = torch.compile(nn.Linear(8, 8), backend="eager")
model.double()
model(torch.rand(4, 8).double())


def f(x):
    return x * 2
""",
    """\
import torch


def main(net, batch):
    from torchao.quantization import Int8WeightOnlyConfig, quantize_

    quantize_(net, Int8WeightOnlyConfig())
    model = torch.compile(net)
    return model(batch)


def f(x):
    return x * 2
""",
    """\
import torch
from torch.distributed.fsdp import fully_shard


def main(net, batch):
    model = torch.compile(net)
    model(batch)
    fully_shard(model)
    return model(batch)


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn

model = nn.Linear(8, 8)
model(torch.rand(4, 8))
model.double()
model = torch.compile(model, backend="eager")


def f(x):
    return x * 2
""",
)


#: Methods that change what the weights are.
_CONVERSIONS = (".half", ".bfloat16", ".double", ".float")


def check_use(event: Use) -> Hit | None:
    step = event.step
    tracked = _changed(step)
    if tracked is None:
        return None
    wraps = tracked.inner is not None and tracked.find("torch.compile") is not None
    if step.name in FULLY_SHARD and wraps:
        # It becomes another class around the compiled call, which stays.
        return None
    number = unwrapped(tracked).number
    called = next((s for s in tracked.steps if (m := called_model(s)) is not None and m.number == number), None)
    sure = same_run(called.path, step.path) if called is not None else None
    return sure and Hit(
        event,
        f"{code(event)} changes a model that was compiled and called: its next call compiles again",
        "move it before the first call",
        sure,
    )


def _changed(step: Operation) -> TrackedObject | None:
    if step.name in (*FULLY_SHARD, *QUANTISE):
        return step.argument(0, "model", "module")
    return step.receiver if step.receiver is not None and _changes(step, step.receiver) else None


def _changes(step: Operation, model: TrackedObject) -> bool:
    """Whether a method converts the model, or moves it to another device than the one that it is on."""
    if step.name in _CONVERSIONS:
        return True
    if step.name == ".to" and any(
        argument.name.startswith("torch.") for argument in (*step.args, *step.kwargs.values())
    ):
        return True
    device, before = _device(step), "cpu"
    for earlier in model.steps:
        if earlier.order < step.order and earlier.name in (".to", ".cuda", ".cpu"):
            before = _device(earlier)
    return bool(device) and bool(before) and device != before


def _device(step: Operation) -> str:
    """The kind of device that a step moves to; empty where it is not known, or the step moves nothing."""
    if step.name in (".cuda", ".cpu"):
        return step.name[1:]
    device = step.argument(0, "device") if step.name == ".to" else None
    return device.value.partition(":")[0] if device is not None and isinstance(device.value, str) else ""
