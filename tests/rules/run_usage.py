"""What the usage rules claim, done for real under torch. Executed as a script, in a process of its own.

Writes ``{name of function: what it returned}`` to the file named by its argument. Each function begins with the code of
its rule, in small letters; those of ``usage_guides.py`` begin with ``fine_``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import usage_first_call  # noqa: F401
import usage_guides  # noqa: F401
from torch import nn
from torch._dynamo.utils import counters
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP
from usage_claims import CLAIMS, Net, X, claim, compiled, graphs, raised, train


@claim
def gd603_twice_has_no_attributes() -> str:
    return raised(lambda: compiled(compiled(Net())).state_dict())


@claim
def gd603_accelerator_keeps_what_is_compiled() -> list[bool]:
    from accelerate import Accelerator
    from accelerate.utils import TorchDynamoPlugin

    plugin = TorchDynamoPlugin(backend="eager", fullgraph=True)
    accelerator = Accelerator(cpu=True, dynamo_plugin=plugin)
    own = accelerator.prepare(compiled(Net()))
    by_plugin = accelerator.prepare(Net())
    return [own.dynamo_ctx.fullgraph, by_plugin.dynamo_ctx.fullgraph]


@claim
def gd604_fullgraph_around() -> list[str]:
    around = raised(lambda: train(compiled(DDP(Net()), fullgraph=True)))
    inside = raised(lambda: train(DDP(compiled(Net(), fullgraph=True))))
    sharded = raised(lambda: train(compiled(_fsdp(Net(), True), fullgraph=True)))
    return [around.partition(":")[0], inside, sharded.partition(":")[0]]


@claim
def gd605_wrapped_layers() -> list[int]:
    layers = [nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(2)]
    around = graphs(lambda: train(compiled(DDP(layers[0]))))
    return [around, graphs(lambda: train(DDP(compiled(layers[1])))), graphs(lambda: train(compiled(DDP(Net()))))]


@claim
def gd605_flat_parameters() -> list[int]:
    return [graphs(lambda flat=flat: train(compiled(_fsdp(Net(), not flat)))) for flat in (True, False)]


def _fsdp(net: nn.Module, original: bool) -> nn.Module:
    return FSDP(net, use_orig_params=original, device_id=torch.device("cpu"))


@claim
def gd606_generate() -> list[int]:
    def in_place() -> None:
        model = Net()
        model.compile(backend="eager")
        model.generate(X)

    parallel = compiled(DDP(Net()))
    return [graphs(lambda: compiled(Net()).generate(X)), graphs(in_place), graphs(lambda: parallel.module.generate(X))]


@claim
def gd607_changed() -> list[int]:
    def change(first: bool, how: Callable[[Any], Any], after: torch.Tensor) -> int:
        def run() -> None:
            model = compiled(Net())
            if first:
                model(X)
            how(model)(after)

        return graphs(run)

    def quantised(model: Any) -> Any:
        return torch.ao.quantization.quantize_dynamic(model, {nn.Linear})

    double = X.double()
    return [
        change(True, lambda m: m.double(), double),
        change(False, lambda m: m.double(), double),
        change(True, quantised, X),
        change(False, quantised, X),
    ]


@claim
def gd604_fabric_compiles_around() -> list[str]:
    from lightning.fabric import Fabric

    fabric = Fabric(accelerator="cpu", devices=1, strategy="ddp")
    fabric.launch()
    return [
        raised(lambda: train(fabric.setup(compiled(Net(), fullgraph=True)))).partition(":")[0],
        raised(lambda: train(fabric.setup(compiled(Net())))),
        raised(lambda: train(fabric.setup(compiled(Net(), fullgraph=True), _reapply_compile=False))),
    ]


@claim
def gd604_sharded_parts() -> list[str]:
    def run(*parts: str) -> str:
        net = Net()
        for part in parts:
            fully_shard(getattr(net, part))
        fully_shard(net)
        return raised(lambda: train(compiled(net, fullgraph=True))).partition(":")[0]

    return [run("first", "second"), run()]


@claim
def gd606_other_methods() -> list[int]:
    class Encoder(Net):
        def encode(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.first(x)
            return out

    def in_place() -> None:
        model = Encoder()
        model.compile(backend="eager")
        model.encode(X)

    def the_method() -> None:
        model = compiled(Encoder())
        model.encode = compiled(model.encode)
        model.encode(X)

    return [graphs(lambda: compiled(Encoder()).encode(X)), graphs(in_place), graphs(the_method)]


@claim
def gd606_prepared() -> list[Any]:
    from accelerate import Accelerator
    from accelerate.utils import TorchDynamoPlugin

    accelerator = Accelerator(cpu=True, dynamo_plugin=TorchDynamoPlugin(backend="eager"))
    model = accelerator.prepare_model(Net(), evaluation_mode=True)
    return [graphs(lambda: model.generate(X)), next(iter(model.state_dict()))]


@claim
def gd607_sharded_after_a_call() -> list[int]:
    def run(inside: bool) -> None:
        net = Net()
        model = compiled(net)
        model(X)
        fully_shard(net if inside else model)
        model(X)

    return [graphs(lambda: run(False)), graphs(lambda: run(True))]


@claim
def gd608_backends() -> list[int]:
    def g(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    def each(backend: Callable[[], Any]) -> int:
        return graphs(lambda: [torch.compile(g, backend=backend())(X) for _ in range(4)])

    return [each(lambda: lambda graph, inputs: graph.forward), each(lambda: "eager")]


@claim
def gd612_ignored() -> str:
    return raised(lambda: compiled(Net(), backend="aot_eager", mode="no such mode")(X))


@claim
def gd615_learning_rate() -> list[int]:
    def run(rate: Any, scheduled: bool) -> None:
        model = Net()
        optimizer = torch.optim.Adam(model.parameters(), lr=rate)
        scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=5) if scheduled else None
        optimizer.step = compiled(optimizer.step)  # type: ignore[method-assign]
        for _ in range(5):
            train(model)
            optimizer.step()
            if scheduler is not None:
                scheduler.step()

    cases: list[tuple[Any, bool]] = [(1e-3, True), (torch.tensor(1e-3), True), (1e-3, False)]
    return [graphs(lambda case=case: run(*case)) for case in cases]


@claim
def gd616_fullgraph() -> list[str]:
    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    train(model)
    steps = (optimizer.step, lambda: optimizer.step())
    return [raised(compiled(step, fullgraph=True)).partition(":")[0] for step in steps]


@claim
def gd617_keys() -> list[str]:
    wrapped = nn.ModuleList([compiled(nn.Linear(4, 4))])
    in_place = nn.ModuleList([nn.Linear(4, 4)])
    in_place[0].compile(backend="eager")
    return [next(iter(wrapped.state_dict())), next(iter(in_place.state_dict()))]


@claim
def gd618_does_not_load() -> str:
    return raised(lambda: Net().load_state_dict(compiled(Net()).state_dict())).partition(":")[0]


@claim
def gd618_regions() -> list[str]:
    from accelerate.utils import compile_regions

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.layer(x)
            return out

    class Blocks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([Block(), Block()])

    model = Blocks()
    regional = compile_regions(model, backend="eager")
    loading = raised(lambda: Blocks().load_state_dict(regional.state_dict()))
    return [next(iter(regional.state_dict())), next(iter(model.state_dict())), loading.partition(":")[0]]


@claim
def gd619_one_process() -> int:
    with torch._dynamo.config.patch(optimize_ddp="python_reducer"):
        return graphs(lambda: train(compiled(DDP(Net()))))


@claim
def gd621_stance() -> list[str]:
    def stance(name: str) -> str:
        with torch.compiler.set_stance(name):
            return raised(lambda: compiled(Net())(X)).partition(":")[0]

    return [stance("error_on_recompile"), stance("fail_on_recompile"), stance("eager_on_recompile")]


@claim
def gd623_first_call() -> list[int]:
    """The graphs compiled between the readings of a clock: in a helper that times a call, and in one that warms up."""

    def measured(call: Callable[[], Any], warm: int) -> int:
        for _ in range(warm):
            call()
        before = counters["stats"]["unique_graphs"]
        call()
        return int(counters["stats"]["unique_graphs"] - before)

    found: list[int] = []
    for warm in (0, 1):
        graphs(lambda warm=warm: found.append(measured(partial(compiled(Net()), X), warm)))
    return found


@claim
def gd625_lengths() -> list[Any]:
    def run(**options: Any) -> None:
        model = compiled(Net(), **options)
        for n in range(2, 13):
            model(torch.rand(n, 4))

    ninth = raised(lambda: run(dynamic=False, fullgraph=True)).partition(":")[0]
    return [graphs(lambda: run(dynamic=False)), ninth, graphs(run)]


@claim
def gd626_log_in_lightning() -> list[str]:
    import lightning

    class Quiet(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = Net()

        def training_step(self, batch: torch.Tensor, batch_idx: int) -> torch.Tensor:
            loss: torch.Tensor = self.net(batch).sum()
            return loss

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    class Loud(Quiet):
        def training_step(self, batch: torch.Tensor, batch_idx: int) -> torch.Tensor:
            return self.report(super().training_step(batch, batch_idx))

        def report(self, loss: torch.Tensor) -> torch.Tensor:
            self.log("loss", loss)
            return loss

    def fit(model: Any) -> str:
        trainer = lightning.Trainer(
            max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False
        )
        return raised(lambda: trainer.fit(model, torch.utils.data.DataLoader(X))).partition(":")[0]

    return [fit(compiled(Loud())), fit(compiled(Quiet()))]


@claim
def gd628_layers_in_place() -> list[int]:
    def called(layer: nn.Module) -> int:
        def run() -> None:
            layer.compile(backend="eager")
            layer(X)

        return graphs(run)

    encoder = nn.TransformerEncoderLayer(4, 2, 8)
    encoder.forward = compiled(encoder.forward)
    layers = [nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.TransformerEncoderLayer(4, 2, 8)]
    return [*map(called, layers), called(nn.Sequential(Net())), graphs(lambda: encoder(X))]


@claim
def gd627_logs() -> list[str]:
    def imported(logs: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", "import torch"],
            env={**os.environ, "TORCH_LOGS": logs},
            capture_output=True,
            text=True,
            check=False,
        )
        return "ValueError" if "ValueError" in done.stderr else ""

    set_logs = torch._logging.set_logs
    cases: list[dict[str, Any]] = [{"graph_break": True}, {"dynamo": True}, {"graph_breaks": 10}]
    return [
        imported("+dynamo,recompile"),
        imported("+dynamo,recompiles"),
        *(raised(lambda case=case: set_logs(**case)).partition(":")[0] for case in cases),
    ]


@claim
def gd635_suppressed() -> list[str]:
    """What a call raises when its backend fails: without the setting, with it, and with it and ``fullgraph``."""

    def failing(*_: Any) -> Any:
        raise ValueError("no code for this graph")

    def call(suppress: bool, **options: Any) -> str:
        torch._dynamo.reset()
        with torch._dynamo.config.patch(suppress_errors=suppress):
            model = torch.compile(Net(), backend=failing, **options)
            return raised(lambda: model(X)).partition(":")[0]

    return [call(False), call(True), call(True, fullgraph=True)]


@claim
def gd701_numbers() -> list[int]:
    def count(start: Any) -> int:
        class Counter(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.n = start

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                self.n += start
                return x * self.n

        model = compiled(Counter())
        return graphs(lambda: [model(X) for _ in range(12)])

    return [count(1), count(0.5)]


def main() -> None:
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
        answer = {name: run() for name, run in CLAIMS.items()}
        dist.destroy_process_group()
    Path(sys.argv[1]).write_text(json.dumps(answer))


if __name__ == "__main__":
    main()
