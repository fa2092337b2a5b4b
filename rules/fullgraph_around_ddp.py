"""`fullgraph=True` around a model that is wrapped for several processes.

What: `torch.compile(DistributedDataParallel(model), fullgraph=True)`, and the same with `FullyShardedDataParallel`.

Why: The forward pass of the wrapper is compiled too, and it calls methods that Dynamo does not trace, so the first
call raises. Compiled inside, `DDP(torch.compile(model, fullgraph=True))`, the model is one graph. Without `fullgraph`
both orders of DDP and compile work in torch 2.13, and both are split at the gradient buckets; so the order alone is
not reported. `fullgraph=True` around `fully_shard` passes.

Fix: Compile the model first and wrap the result, or leave `fullgraph` out.
"""

from __future__ import annotations

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage import COMPILE, DDP, FSDP, Use, target, together

from ._shared import code

CODE = "GD604"
NAME = "fullgraph-around-ddp"
SEVERITY = "error"
GB_IDS = ()
TORCH = ">=2.6"

BREAKS = (
    """\
import torch
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


def main():
    model = DDP(nn.Linear(8, 8))
    return torch.compile(model, fullgraph=True)  # flagged


def f(x):
    return x * 2
""",
    """\
import torch
import torch.nn as nn
from torch.distributed.fsdp import FullyShardedDataParallel


def main(net):
    model = FullyShardedDataParallel(net, use_orig_params=True)
    model.compile(fullgraph=True)  # flagged
    return model


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


def main():
    return DDP(torch.compile(nn.Linear(8, 8), fullgraph=True))


def f(x):
    return x * 2
""",
    """\
import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def main(net):
    return torch.compile(DDP(net))


def f(x):
    return x * 2
""",
    """\
import torch
from torch.distributed.fsdp import fully_shard


def main(net):
    fully_shard(net)
    return torch.compile(net, fullgraph=True)


def f(x):
    return x * 2
""",
    """\
import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def main(net, several):
    if several:
        net = DDP(net)
    if not several:
        net = torch.compile(net, fullgraph=True)
    return net


def f(x):
    return x * 2
""",
)


def check_use(event: Use) -> Hit | None:
    step = event.step
    thing = target(step) if step.name in COMPILE else None
    wrapped = thing.find(*DDP, *FSDP) if thing is not None else None
    # With the Python reducer DDP is traced.
    if wrapped is None or step.option("fullgraph") is not True or "python_reducer" in event.site.module.text:
        return None
    sure = together(wrapped.path, step.path)
    return sure and Hit(
        event,
        f"{code(event)} raises on the first call: `{wrapped.name.rpartition('.')[2]}` has a graph break of its own",
        "put compile inside: `DDP(torch.compile(model, fullgraph=True))`",
        sure,
    )
