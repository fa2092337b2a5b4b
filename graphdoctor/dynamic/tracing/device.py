"""What only the device shows: peak memory, lines that wait for the GPU, hints on speed.

What CUDA graphs leave out is in ``cuda_graphs``.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.tracing import cuda_graphs
from graphdoctor.dynamic.user_code.user_errors import fault_of
from graphdoctor.model.runs import DeviceChecks, Hint

#: torch/_logging/_registrations.py: the artifact "perf_hints", by the modules that write it.
LOGGERS = (
    "torch._inductor.graph.__perf_hints",
    "torch._inductor.compile_fx.__perf_hints",
    "torch._inductor.codegen.simd.__perf_hints",
    "torch._inductor.codegen.triton.__perf_hints",
    "torch._dynamo.variables.optimizer.__perf_hints",
)
#: The text of a hint -> what to do. A hint without an entry is dropped: users could not act on it.
_ACTIONS = (
    (
        r"Using FallbackKernel: (\S+)",
        "`{0}` runs as in eager and cuts fused loops: use operators that Inductor generates",
    ),
    (r"[Cc]omplex", "Inductor generates no code for complex numbers: use real and imaginary parts"),
    (r"[Rr]eduction over non-contiguous", "make the dimension that is reduced the last one of a contiguous tensor"),
    (r"foreach|capturable", "create the optimizer with `capturable=True` and the learning rate as a tensor"),
)


#: Builds a sample, and gives the step that runs it.
Prepare = Callable[[], Callable[[], object]]


def hints(messages: Sequence[str]) -> tuple[Hint, ...]:
    """Each message once, with what to do about it; those without an action are dropped."""
    found = []
    for text, events in Counter(" ".join(message.split()) for message in messages).items():
        for pattern, action in _ACTIONS:
            if match := re.search(pattern, text):
                found.append(Hint(text, action.format(*match.groups()), events=events))
                break
    return tuple(found)


def check(
    device: torch.device, eager: Prepare, inductor: Prepare | None, places: Places, messages: Sequence[str]
) -> DeviceChecks:
    """Run a step on ``device`` in eager and, where ``inductor`` is given, compiled by it, and look.

    ``messages`` are the hints on speed that Inductor gave before.
    """
    unchecked: tuple[str, ...] = () if inductor else ("Inductor's hints on speed, which a scan with `--ladder` gives",)
    if device.type != "cuda":
        unchecked = ("CUDA graphs", "peak device memory", "lines that wait for the GPU", *unchecked)
        return DeviceChecks(hints=hints(messages), unchecked=unchecked)
    checks = DeviceChecks(_peak(device, eager()), None, _waits(eager(), places), (), hints(messages), unchecked)
    if inductor is None:
        return replace(checks, unchecked=("CUDA graphs, which a scan with `--ladder` looks at", *unchecked))
    try:
        step = inductor()
        step()
        checks = replace(checks, peak_memory_compiled=_peak(device, step))
        return replace(checks, cudagraph_skips=cuda_graphs.left_out(inductor, places))
    except Exception as error:
        detail = fault_of(error, places, "while the device was looked at").detail
        return replace(checks, unchecked=(f"CUDA graphs: {detail}", *unchecked))


def _peak(device: torch.device, step: Callable[[], object]) -> int:
    """The most bytes that tensors take during ``step``, with those that there were before."""
    torch.cuda.reset_peak_memory_stats(device)
    step()
    return torch.cuda.max_memory_allocated(device)


def _waits(step: Callable[[], object], places: Places) -> tuple[Hint, ...]:
    """The lines of the user and of packages that wait for the GPU (torch.cuda.set_sync_debug_mode)."""
    lines: Counter[tuple[str, int]] = Counter()

    def look(message: Warning | str, *_given: Any, **_named: Any) -> None:
        if "synchronizing" in str(message) and (place := places.innermost(_stack())):
            lines[place] += 1

    mode = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        # The warning names torch's own line; the stack has the one that called it.
        warnings.showwarning = look
        torch.cuda.set_sync_debug_mode("warn")
        try:
            step()
        finally:
            torch.cuda.set_sync_debug_mode(mode)
    return tuple(
        Hint(
            "an operation that synchronizes",
            "keep the value in a tensor, or read it after the forward; make new tensors on the GPU",
            places.show(path),
            line,
            events,
        )
        for (path, line), events in lines.items()
    )


def _stack() -> list[tuple[str, int]]:
    """File and line of each frame, outermost first."""
    found, frame = [], sys._getframe(1)
    while frame is not None:
        found.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back  # type: ignore[assignment]
    return found[::-1]
