"""Modes, backends, AMP, a compiled optimizer and the caches, timed by torch.utils.benchmark in this process.

    python -m benchmarks.gpu.timing PART

prints one line of JSON. Each part has a process of its own: what one leaves behind does not count for the next.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn
from torch.utils import benchmark

_WIDTH, _DEPTH, _BATCH = 1024, 8, 256


class Net(nn.Module):
    """Layers whose pointwise parts Inductor fuses."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(_WIDTH, _WIDTH) for _ in range(_DEPTH))
        self.norm = nn.LayerNorm(_WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = self.norm(x + torch.nn.functional.gelu(layer(x)))
        return x


def _made() -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    return Net().cuda(), torch.randn(_BATCH, _WIDTH, device="cuda")


def _timed(call: Callable[[], Any]) -> dict[str, Any]:
    """The first call in seconds, and the milliseconds of a later one: median and quartiles."""
    started = time.perf_counter()
    call()
    torch.cuda.synchronize()
    first = time.perf_counter() - started
    times = [seconds * 1000 for seconds in benchmark.Timer("call()", globals={"call": call}).repeat(20, 20)]
    low, median, high = statistics.quantiles([spent / 20 for spent in times], n=4)
    return {"first_s": round(first, 2), "ms": round(median, 4), "quartiles_ms": [round(low, 4), round(high, 4)]}


def _forward(amp: bool = False, **compiled: Any) -> dict[str, Any]:
    model, x = _made()
    function = torch.compile(model, **compiled) if compiled else model
    context: AbstractContextManager[Any] = torch.autocast("cuda", torch.bfloat16) if amp else nullcontext()

    def call() -> torch.Tensor:
        with torch.no_grad(), context:
            out: torch.Tensor = function(x)
        return out

    found = _timed(call)
    torch.cuda.reset_peak_memory_stats()
    call()
    return {**found, "peak_mb": torch.cuda.max_memory_allocated() >> 20}


def _optimizer(compiled: bool) -> dict[str, Any]:
    model, x = _made()
    # The learning rate as a tensor: a number would be a guard.
    optimizer = torch.optim.AdamW(model.parameters(), lr=torch.tensor(1e-4, device="cuda"), capturable=True)
    model(x).sum().backward()
    step = torch.compile(optimizer.step) if compiled else optimizer.step
    return _timed(step)


def _caches() -> dict[str, Any]:
    """The first call with an empty cache, and with another one that its artifacts were loaded into."""
    from torch._inductor.utils import fresh_cache

    with fresh_cache():
        cold = _first_call()
        artifacts, _ = torch.compiler.save_cache_artifacts() or (b"", None)
    with fresh_cache():
        torch._dynamo.reset()
        torch.compiler.load_cache_artifacts(artifacts)
        loaded = _first_call()
    return {"cold_s": cold, "loaded_s": loaded, "artifact_bytes": len(artifacts)}


def _first_call() -> float:
    model, x = _made()
    started = time.perf_counter()
    torch.compile(model)(x)
    torch.cuda.synchronize()
    return round(time.perf_counter() - started, 2)


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "eager": _forward,
    "inductor, default": lambda: _forward(mode="default"),
    "inductor, reduce-overhead": lambda: _forward(mode="reduce-overhead"),
    "aot_eager": lambda: _forward(backend="aot_eager"),
    "cudagraphs": lambda: _forward(backend="cudagraphs"),
    "eager, AMP": lambda: _forward(amp=True),
    "inductor, AMP": lambda: _forward(amp=True, mode="default"),
    "optimizer, eager": lambda: _optimizer(compiled=False),
    "optimizer, compiled": lambda: _optimizer(compiled=True),
    "caches": _caches,
    "inductor, max-autotune": lambda: _forward(mode="max-autotune"),
    "inductor, max-autotune-no-cudagraphs": lambda: _forward(mode="max-autotune-no-cudagraphs"),
}


if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]]()))
