"""What compile does with two ranks of DDP and FSDP2 on gloo. Run as ``run_two_ranks.py RANK FOLDER``, once for each rank.

Rank 0 writes ``{name of function: what it returned}`` to FOLDER/answer.json.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch._dynamo.utils import counters
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP

from graphdoctor.fixes.core.apply import apply
from graphdoctor.lint.engine import analyse

RANKS = 2
#: A block of this width has gradients of 1.05 MB: more than the first bucket of DDP, which must not be the largest.
WIDTH = 512


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).relu()


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x


def net() -> Net:
    """The same parameters on each rank."""
    torch.manual_seed(0)
    return Net()


def data() -> torch.Tensor:
    """Other inputs on each rank."""
    return torch.rand(4, WIDTH, generator=torch.Generator().manual_seed(dist.get_rank()))


def expected() -> list[torch.Tensor]:
    """The gradients of an eager model without wrapper, averaged over the ranks by hand."""
    model = net()
    model(data()).sum().backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    for gradient in gradients:
        dist.all_reduce(gradient)
    return [gradient / RANKS for gradient in gradients]


def trained(model: Any, parameters: Callable[[], Any]) -> list[Any]:
    """The graphs that one training step compiles, and whether it leaves the gradients of ``expected``."""
    torch._dynamo.reset()
    counters.clear()
    model(data()).sum().backward()
    whole = [getattr(p.grad, "full_tensor", lambda g=p.grad: g)() for p in parameters()]
    equal = all(torch.allclose(a, b, atol=1e-5) for a, b in zip(whole, expected(), strict=True))
    return [int(counters["stats"]["unique_graphs"]), equal]


def ddp_around() -> list[Any]:
    model = DDP(net())
    return trained(torch.compile(model, backend="aot_eager"), model.parameters)


def ddp_inside() -> list[Any]:
    model = net()
    return trained(DDP(torch.compile(model, backend="aot_eager")), model.parameters)


def ddp_splits_at_small_buckets() -> int:
    """Graphs that reach the backend when a bucket is full with the gradients of one block."""
    reached = []

    def backend(graph: Any, inputs: Any) -> Any:
        reached.append(graph)
        return graph.forward

    model = torch.compile(DDP(net(), bucket_cap_mb=1), backend=backend)
    model(data()).sum().backward()
    return len(reached)


def ddp_fullgraph_around() -> str:
    torch._dynamo.reset()
    try:
        torch.compile(DDP(net()), backend="eager", fullgraph=True)(data())
    except Exception as error:
        return type(error).__name__
    return ""


def ddp_python_reducer() -> list[Any]:
    with torch._dynamo.config.patch(optimize_ddp="python_reducer", compiled_autograd=True):
        model = DDP(net())
        return trained(torch.compile(model, backend="aot_eager"), model.parameters)


def sharded(model: Net) -> Net:
    """Each block, then the root, as the guides do it."""
    for block in model.blocks:
        fully_shard(block)
    return fully_shard(model)


def fsdp2_then_compile() -> list[Any]:
    model = sharded(net())
    return trained(torch.compile(model, backend="aot_eager"), model.parameters)


def fsdp2_blocks_compiled_in_place() -> list[Any]:
    model = net()
    for block in model.blocks:
        block.compile(backend="aot_eager")
    sharded(model)
    return trained(model, model.parameters)


BROADCAST = """\
import torch
import torch.distributed as dist


def f(x):
    y = x * 2
    dist.broadcast(y, 1)
    return y * y


def graphdoctor_target():
    return f, (torch.rand(3),)
"""


def broadcast_in_the_graph() -> bool:
    """Whether the fix gives, on this rank, what the original gives, and its gradients, in eager and in one graph."""
    file = Path(sys.argv[2]) / f"broadcast{dist.get_rank()}.py"
    file.write_text(BROADCAST)
    (found,) = analyse([(file, file.name)]).findings
    assert found.fix is not None
    fixed = apply(BROADCAST, found.fix.edits)
    results = []
    for text, compiled in ((BROADCAST, False), (fixed, False), (fixed, True)):
        made: dict[str, Any] = {}
        exec(text, made)
        x = torch.full((3,), 1.0 + dist.get_rank(), requires_grad=True)
        f = torch.compile(made["f"], backend="aot_eager", fullgraph=True) if compiled else made["f"]
        value = f(x)
        value.sum().backward()
        results.append((value.tolist(), x.grad.tolist()))
    return results[0] == results[1] == results[2]


CLAIMS = (
    ddp_around,
    ddp_inside,
    ddp_splits_at_small_buckets,
    ddp_fullgraph_around,
    ddp_python_reducer,
    fsdp2_then_compile,
    fsdp2_blocks_compiled_in_place,
    broadcast_in_the_graph,
)


def main() -> None:
    warnings.simplefilter("ignore")
    rank, folder = int(sys.argv[1]), Path(sys.argv[2])
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=RANKS)
    answer = {}
    for run in CLAIMS:
        torch._dynamo.reset()
        answer[run.__name__] = run()
    if rank == 0:
        (folder / "answer.json").write_text(json.dumps(answer))
    dist.barrier()
    dist.destroy_process_group()
    # On a busy machine gloo's threads may still run here, and abort the interpreter while it ends.
    os._exit(0)


if __name__ == "__main__":
    main()
