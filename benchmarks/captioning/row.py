"""One row of the table in this process, as a line of JSON.

python -m benchmarks.captioning.row NUMBER BACKEND [original]
"""

from __future__ import annotations

import itertools
import json
import platform
import sys
import time
from typing import Any

import torch
import transformers
from torch import nn
from torch._dynamo.utils import counters

from benchmarks.captioning.optimizers import ForeachMapAdamW
from benchmarks.captioning.published import ROWS, Row
from benchmarks.captioning.setup import ORIGINAL, TINY, Size, batches, captioner, train_step

# In place and not from graphdoctor: the numbers shall not depend on the tool.
_RATE = 1e-4


def measure(row: Row, size: Size, backend: str, device: torch.device) -> dict[str, object]:
    """Steps a second after warm-up, the seconds of the warm-up, and the graphs that were compiled."""
    torch.manual_seed(0)
    model = captioner(size).to(device).train()
    forward = _compiled(row, _distributed(model, device) if row.ddp else model, backend)
    optimizer = _optimizer(row, model, backend)
    source = batches(size, row.padding, device)
    start = time.perf_counter()
    _steps(row, model, forward, optimizer, source, size.warm_up, device)
    warm_up, start = time.perf_counter() - start, time.perf_counter()
    loss = _steps(row, model, forward, optimizer, source, size.steps, device)
    return {
        "steps_per_second": size.steps / (time.perf_counter() - start),
        "warm_up": warm_up,
        "graphs": counters["stats"]["unique_graphs"],
        "loss": loss,
        "backend": backend,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else f"cpu, {torch.get_num_threads()} threads",
    }


def _compiled(row: Row, model: nn.Module, backend: str) -> nn.Module:
    if not row.compiled:
        return model
    # Modes and options belong to Inductor.
    keywords: dict[str, Any] = {"mode": row.mode} if row.mode and backend == "inductor" else {}
    if row.shape_padding and backend == "inductor":
        keywords["options"] = {"shape_padding": True}
    dynamic = None if row.dynamic == "mark" else row.dynamic
    if row.regional or row.modular:
        parts = [*model.encoder.layers, *model.decoder.transformer.h] if row.regional else [model.encoder]
        for part in parts:
            part.compile(backend=backend, dynamic=dynamic, **keywords)
        if row.modular and row.encoder != "alone":
            model.decoder.compile(backend=backend, dynamic=dynamic, **({} if row.encoder else keywords))
        return model
    compiled: nn.Module = torch.compile(model, backend=backend, dynamic=dynamic, **keywords)
    return compiled


def _distributed(model: nn.Module, device: torch.device) -> nn.Module:
    """The model in a group of one process."""
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("nccl" if device.type == "cuda" else "gloo", store=store, rank=0, world_size=1)
    # The pooler of the encoder has no part in the loss.
    return nn.parallel.DistributedDataParallel(model, find_unused_parameters=True)


def _optimizer(row: Row, model: nn.Module, backend: str) -> torch.optim.Optimizer | ForeachMapAdamW:
    if row.foreach_map:
        mapped = ForeachMapAdamW(model.parameters(), _RATE)
        mapped.compile(backend)
        return mapped
    optimizer = torch.optim.AdamW(model.parameters(), lr=_RATE)
    if row.optimizer:
        optimizer.step = torch.compile(optimizer.step, backend=backend)  # type: ignore[method-assign]
    return optimizer


def _steps(row, model, forward, optimizer, source, number, device):  # type: ignore[no-untyped-def]
    loss = torch.tensor(float("nan"))
    for batch in itertools.islice(source, number):
        if row.dynamic == "mark":
            torch._dynamo.mark_dynamic(batch["labels"], 1)
        loss = train_step(forward, optimizer, batch, row.kept_gradients)
    if device.type == "cuda":
        torch.cuda.synchronize()
    return loss.item()


def main() -> None:
    number, backend, *rest = sys.argv[1:]
    original = rest == ["original"]
    if original and not torch.cuda.is_available():
        sys.exit("the original size needs a GPU, and torch finds none")
    if not original:
        # The tiny size gains nothing from threads, and without them its times scatter less on a shared machine.
        torch.set_num_threads(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print(json.dumps(measure(ROWS[int(number)], ORIGINAL if original else TINY, backend, device)))


if __name__ == "__main__":
    main()
