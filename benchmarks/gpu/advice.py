"""What guides say and only a GPU can show: three rows of docs/guidance.md, and how bench measures time.

    python -m benchmarks.gpu.advice

prints a line for each measurement.
"""

from __future__ import annotations

import logging
import sys
import time
from statistics import median

import torch
from torch import nn
from torch._dynamo.utils import counters
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.benchmark import Timer


class _Recordings(logging.Handler):
    """Counts the CUDA graphs that are recorded."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += "Recording function" in record.getMessage()


def _layers(width: int, depth: int, normed: bool = False) -> nn.Module:
    parts: list[nn.Module] = []
    for _ in range(depth):
        parts += [nn.Linear(width, width), nn.GELU(), *([nn.LayerNorm(width)] if normed else [])]
    return nn.Sequential(*parts).cuda()


def sizes(dynamic: bool | None) -> None:
    """Row 63: how many CUDA graphs five batch sizes take."""
    seen, logger = _Recordings(), logging.getLogger("torch._inductor.cudagraph_trees")
    logger.setLevel(logging.DEBUG)
    logger.addHandler(seen)
    torch._dynamo.reset()
    counters.clear()
    compiled = torch.compile(_layers(1024, 2), mode="reduce-overhead", dynamic=dynamic)
    for _ in range(4):
        for batch in (8, 16, 24, 40, 56):
            torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
            with torch.no_grad():
                compiled(torch.randn(batch, 1024, device="cuda"))
    logger.removeHandler(seen)
    made = counters["stats"]["unique_graphs"]
    print(f"five sizes, dynamic={dynamic}: {made} compilations, {seen.count} CUDA graphs recorded")


def memory(mode: str) -> None:
    """Row 26: what the pools of CUDA graphs keep."""
    torch._dynamo.reset()
    torch.cuda.empty_cache()
    compiled, x = torch.compile(_layers(2048, 6), mode=mode), torch.randn(4096, 2048, device="cuda")
    for _ in range(4):
        torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
        with torch.no_grad():
            compiled(x)
    torch.cuda.synchronize()
    segments = torch.cuda.memory_snapshot()  # type: ignore[no-untyped-call]
    kept = sum(s["total_size"] for s in segments if tuple(s["segment_pool_id"]) != (0, 0))
    print(f"memory, mode={mode}: {kept >> 20} MiB kept in pools")


def attention(*lengths: int) -> None:
    """Row 88: the compilations that a sequence of lengths takes."""
    torch._dynamo.reset()
    counters.clear()
    compiled = torch.compile(lambda q, k, v, mask: scaled_dot_product_attention(q, k, v, attn_mask=mask))
    for length in lengths:
        q, k, v = (torch.randn(2, 4, length, 64, device="cuda", dtype=torch.float16) for _ in range(3))
        compiled(q, k, v, torch.zeros(2, 1, length, length, device="cuda", dtype=torch.float16))
    print(f"attention, lengths {lengths}: {counters['stats']['unique_graphs']} compilations")


def timers() -> None:
    """Small layers under CUDA graphs by triton's do_bench, by torch.utils.benchmark, and in a loop, in ms."""
    from triton.testing import do_bench

    torch._dynamo.reset()
    compiled, x = torch.compile(_layers(64, 12, normed=True), mode="reduce-overhead"), torch.randn(8, 64, device="cuda")

    def step() -> None:
        torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
        with torch.no_grad():
            compiled(x)

    for _ in range(5):
        step()
    benched = median(do_bench(step, rep=500, return_mode="all"))
    timed = Timer("step()", globals={"step": step}).blocked_autorange(min_run_time=0.5).median * 1000
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(200):
        step()
    torch.cuda.synchronize()
    looped = (time.perf_counter() - started) / 200 * 1000
    print(f"twelve small layers: do_bench {benched:.3f}, torch.utils.benchmark {timed:.3f}, a loop {looped:.3f} ms")


def main() -> int:
    if not torch.cuda.is_available():
        print("nothing was measured: torch finds no CUDA device")
        return 1
    for dynamic in (True, None):
        sizes(dynamic)
    for mode in ("default", "reduce-overhead"):
        memory(mode)
    attention(16, 24, 32, 40)
    attention(16, 24, 33, 40, 41)
    timers()
    return 0


if __name__ == "__main__":
    sys.exit(main())
