"""What guides call bad and this torch does well; ``run_usage.py`` runs it."""

from __future__ import annotations

import torch
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP
from usage_claims import Net, X, claim, compiled, graphs, raised, train


@claim
def fine_autocast_inside() -> str:
    @torch.compile(backend="eager", fullgraph=True)
    def inside(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return x @ x.T

    return raised(lambda: inside(X))


@claim
def fine_move_inside() -> str:
    return raised(lambda: torch.compile(lambda x: x.to("cpu") + 1, backend="eager", fullgraph=True)(X))


@claim
def fine_assert_with_constant_message() -> str:
    @torch.compile(backend="eager", fullgraph=True)
    def checked(x: torch.Tensor) -> torch.Tensor:
        assert x.sum() > -1, "negative"
        return x + 1

    return raised(lambda: checked(X))


@claim
def fine_ddp_either_order() -> list[int]:
    return [graphs(lambda: train(compiled(DDP(Net())))), graphs(lambda: train(DDP(compiled(Net()))))]


@claim
def fine_shard_either_order() -> list[int]:
    def first() -> None:
        net = Net()
        fully_shard(net)
        train(compiled(net))

    return [graphs(first), graphs(lambda: train(fully_shard(compiled(Net()))))]


@claim
def fine_fabric_either_order() -> list[int]:
    from lightning.fabric import Fabric

    fabric = Fabric(accelerator="cpu", devices=1)

    def after() -> None:
        compiled(fabric.setup(Net()))(X)

    return [graphs(lambda: fabric.setup(compiled(Net()))(X)), graphs(after)]


@claim
def fine_compile_in_loop() -> int:
    model = Net()
    return graphs(lambda: [compiled(model)(X) for _ in range(4)])


@claim
def fine_shape_padding_is_on() -> bool:
    import torch._inductor.config

    return bool(torch._inductor.config.shape_padding)


@claim
def fine_update_alone() -> list[int]:
    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    train(model)
    return [graphs(compiled(step)) for step in (optimizer.step, lambda: optimizer.step())]
