"""`fullgraph=True` around a wrapper for distributed training.

What: `torch.compile(DistributedDataParallel(model), fullgraph=True)`, and the same with `FullyShardedDataParallel`, or
with a model on which, and on parts of which, `fully_shard` was called; and
`fabric.setup(torch.compile(model, fullgraph=True))` of a `Fabric` with DDP, which compiles again around its wrapper.

Why: The forward pass of the wrapper is compiled too, and it calls methods that Dynamo does not trace, so the first
call raises. Compiled inside, `DDP(torch.compile(model, fullgraph=True))`, the model is one graph. Without `fullgraph`
both orders of DDP and compile work in torch 2.13, and both are split at the gradient buckets; so the order alone is
not reported. `fullgraph=True` around a model that was sharded only as a whole passes; the hooks of its
sharded parts do not.

Fix: Compile the model first and wrap the result, or leave `fullgraph` out.
"""

from __future__ import annotations

from graphdoctor.static.rule import Hit
from graphdoctor.static.usage.events import (  # fmt: skip
    COMPILE,
    DDP,
    FSDP,
    FULLY_SHARD,
    TrackedObject,
    Use,
    compiled,
    same_run,
    target,
    unwrapped,
)
from graphdoctor.static.usage.known_calls import SETUPS

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
    """\
import torch
from torch.distributed.fsdp import fully_shard


def shard(model):
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    return model


def main(net):
    return torch.compile(shard(net), fullgraph=True)  # flagged


def f(x):
    return x * 2
""",
    """\
import torch


def main(net):
    from lightning.fabric import Fabric

    fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp")
    model = torch.compile(net, fullgraph=True)
    return fabric.setup(model)  # flagged


def f(x):
    return x * 2
""",
)

CLEAN = (
    """\
import torch


def main(net):
    from lightning.fabric import Fabric

    fabric = Fabric(accelerator="cpu", devices=1)
    return fabric.setup(torch.compile(net, fullgraph=True))


def f(x):
    return x * 2
""",
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
    # With the Python reducer DDP is traced.
    if step.name not in (*SETUPS, *COMPILE) or "python_reducer" in event.site.module.text:
        return None
    if step.name in SETUPS:
        return _set_up(event)
    tracked = target(step) if step.name in COMPILE and step.option("fullgraph") is True else None
    if tracked is None or tracked.unsure:
        return None
    wrapped = tracked.find(*DDP, *FSDP)
    if wrapped is not None:
        sure = same_run(wrapped.path, step.path)
        name = wrapped.name.rpartition(".")[2]
        words = f"{code(event)} raises on the first call: `{name}` has a graph break of its own"
        return sure and Hit(event, words, "put compile inside: `DDP(torch.compile(model, fullgraph=True))`", sure)
    part = next((s for s in event.before if s.name in FULLY_SHARD and _is_part(s.argument(0, "module"), tracked)), None)
    if part is None or tracked.find(*FULLY_SHARD) is None:
        return None
    sure = same_run(part.path, step.path)
    words = f"{code(event)} raises on the first call: the hooks of `fully_shard` on a part of the model break the graph"
    return sure and Hit(
        event, words, "leave `fullgraph` out, or compile the parts: `part.compile(fullgraph=True)`", sure
    )


def _set_up(event: Use) -> Hit | None:
    """Fabric compiles again what it has wrapped: what was inside is around then."""
    step = event.step
    fabric = step.receiver.maker if step.receiver is not None else None
    own = compiled(step.args[0]) if step.args else None
    if (
        fabric is None
        or own is None
        or step.args[0].unsure
        or not fabric.name.endswith("Fabric")
        or own.option("fullgraph") is not True
    ):
        return None
    strategy = fabric.argument(1, "strategy")
    if strategy is None or not _is_ddp(strategy) or step.option("_reapply_compile") is False:
        return None
    sure = same_run(own.path, step.path)
    words = f"{code(event)} compiles around the `DistributedDataParallel` that it makes: `fullgraph=True` raises there"
    return sure and Hit(event, words, "pass `_reapply_compile=False`, or leave `fullgraph` out", sure)


def _is_ddp(strategy: TrackedObject) -> bool:
    named = isinstance(strategy.value, str) and strategy.value.startswith("ddp")
    return named or strategy.made_by.rpartition(".")[2] == "DDPStrategy"


def _is_part(tracked: TrackedObject | None, whole: TrackedObject) -> bool:
    """Whether an object was read from another one."""
    number = unwrapped(whole).number
    while tracked is not None and tracked.owner is not None:
        tracked = tracked.owner
        if tracked.number == number != 0:
            return True
    return False
