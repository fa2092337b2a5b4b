"""Seconds and bytes of a step in the steady state. Runs in the worker."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from itertools import accumulate

import torch
from torch.utils import benchmark

from graphdoctor.model.benchmark import Timing

#: Fewer measurements give no meaningful quartiles.
_LEAST_SAMPLES = 8

#: Where the quartiles lie closer together than this share of the median, more measurements change nothing.
_SMALL_SPREAD = 0.05

#: Seconds between two looks at the spread.
_SLICE = 0.2


def timing(step: Callable[[], None], seconds: float, calls: int) -> Timing:
    """Median and quartiles of ``step`` after warm-up, which makes ``calls`` calls, in at most about ``seconds``.

    By ``torch.utils.benchmark``, which waits for the GPU around each block of steps: what is timed is what a loop
    takes, with the time in which Python launches kernels. ``triton.testing.do_bench`` hides a part of that.
    """
    # Timer uses one thread by default (torch/utils/benchmark/utils/timer.py).
    timer = benchmark.Timer("step()", globals={"step": step}, num_threads=torch.get_num_threads())
    times: list[float] = []
    deadline = time.monotonic() + seconds
    while len(times) < _LEAST_SAMPLES or (_scatters(times) and time.monotonic() < deadline):
        times += timer.blocked_autorange(min_run_time=min(_SLICE, seconds)).times
    low, median, high = _quartiles([spent / calls for spent in times])
    return Timing(median, low, high, len(times))


def _scatters(times: list[float]) -> bool:
    low, median, high = _quartiles(times)
    return high - low > _SMALL_SPREAD * median


def _quartiles(times: list[float]) -> tuple[float, float, float]:
    low, median, high = statistics.quantiles(times, n=4, method="inclusive")
    return low, median, high


def peak(step: Callable[[], None], device: torch.device) -> int:
    """The most bytes that tensors take during ``step`` above what they held before it, and what CUDA graphs keep."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        step()
        torch.cuda.synchronize(device)
        return int(torch.cuda.max_memory_allocated(device) - before) + _kept_by_graphs()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        step()
    # One event for each allocation (its bytes) and each release (its bytes, negative), in order of time
    # (torch/autograd/profiler.py reads them the same way).
    assert profile.profiler is not None and profile.profiler.kineto_results is not None
    events = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
    changes = [event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())]
    return int(max(accumulate(changes, initial=0)))


def _kept_by_graphs() -> int:
    """The bytes of the pools that CUDA graphs replay in, whose tensors are not allocated anew."""
    segments = torch.cuda.memory_snapshot()  # type: ignore[no-untyped-call]
    return sum(s["total_size"] for s in segments if tuple(s["segment_pool_id"]) != (0, 0))
