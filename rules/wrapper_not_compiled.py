"""A wrapped model of which nothing is compiled.

What: `torch.compile(DistributedDataParallel(net))` where `net` is a layer of torch or an `nn.Sequential` of such
layers, and `torch.compile(FullyShardedDataParallel(net))` without `use_orig_params=True`.

Why: Dynamo does not compile the frames of the wrapper itself, and inside there is no frame of the user's code: 0
graphs, and no message. With flat parameters (`use_orig_params=False`, the default) FSDP is skipped as well. A model
of a class of your own inside DDP is compiled, and is not reported.

Fix: Compile inside, `DDP(torch.compile(net))`; for FSDP pass `use_orig_params=True`, or use `fully_shard`.
"""

from __future__ import annotations

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import COMPILE, DDP, FSDP, Use, same_run, target

from ._shared import code, is_of_torch

CODE = "GD605"
NAME = "wrapper-not-compiled"
SEVERITY = "error"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


def main():
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    return torch.compile(DDP(net))  # flagged


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def main(net):
    return torch.compile(FSDP(net))  # flagged


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Model(nn.Module):
    def forward(self, x):
        return x * 2


def main():
    return torch.compile(DDP(nn.Sequential(nn.Linear(8, 8), Model())))


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


def main():
    return DDP(torch.compile(nn.Sequential(nn.Linear(8, 8), nn.ReLU())))


def f(x):
    return x * 2
""",
    """\
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def main(net):
    return torch.compile(FSDP(net, use_orig_params=True))


def f(x):
    return x * 2
""",
)


def check_use(event: Use) -> Hit | None:
    step = event.step
    tracked = target(step) if step.name in COMPILE else None
    wrapped = tracked.find(*DDP, *FSDP) if tracked is not None else None
    if tracked is None or wrapped is None or tracked.unsure:
        return None
    name = wrapped.name.rpartition(".")[2]
    if wrapped.name in FSDP:
        reason, advice = "without `use_orig_params=True`", "pass `use_orig_params=True`, or use `fully_shard`"
        empty = not {"use_orig_params", "**"} & wrapped.kwargs.keys()
    else:
        reason, advice = "around layers of torch alone", "compile inside: `DDP(torch.compile(net))`"
        empty = "python_reducer" not in event.site.module.text and is_of_torch(wrapped.argument(0, "module"))
    sure = same_run(wrapped.path, step.path) if empty else None
    return sure and Hit(event, f"{code(event)} compiles nothing: `{name}` {reason} gives 0 graphs", advice, sure)
