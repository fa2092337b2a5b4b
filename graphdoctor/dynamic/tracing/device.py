"""What only the device shows: peak memory, synchronisation points, skipped CUDA graphs, hints on speed.

What needs a GPU was written from torch's sources and documentation and has not been run on one.
"""

from __future__ import annotations

import contextlib
import logging
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch

from graphdoctor.breaks.locations import Places
from graphdoctor.model.runs import DeviceChecks, Hint

#: torch/_logging/_registrations.py: the artifacts "perf_hints" and "cudagraphs", by the modules that write them.
_LOGGERS = (
    "torch._inductor.graph.__perf_hints",
    "torch._inductor.compile_fx.__perf_hints",
    "torch._inductor.codegen.simd.__perf_hints",
    "torch._inductor.codegen.triton.__perf_hints",
    "torch._dynamo.variables.optimizer.__perf_hints",
    "torch._inductor.cudagraph_utils.__cudagraphs",
)
_CUDA_GRAPHS = "__cudagraphs"
#: The text of a hint -> what to do. A hint without an entry is dropped: users could not act on it.
_ACTIONS = (
    (
        r"Using FallbackKernel: (\S+)",
        "`{0}` runs as in eager and cuts fused loops: use operators that Inductor generates",
    ),
    (r"[Cc]omplex", "Inductor generates no code for complex numbers: use real and imaginary parts"),
    (r"[Rr]eduction over non-contiguous", "make the dimension that is reduced the last one of a contiguous tensor"),
    (r"mutated inputs", "write to a copy of the input, or keep it in a buffer of the model"),
    (r"cpu device", "create this tensor on the GPU"),
    (r"multiple devices", "keep all tensors of a graph on one device"),
    (r"incompatible op|dynamic shape", "pad to a fixed size, or leave CUDA graphs off for this part"),
    (r"foreach|capturable", "create the optimizer with `capturable=True` and the learning rate as a tensor"),
)


@dataclass
class LoggedMessages:
    """Messages of the loggers, in order: on speed, and on CUDA graphs."""

    hints: list[str] = field(default_factory=list)
    skips: list[str] = field(default_factory=list)


class _Listener(logging.Handler):
    def __init__(self, messages: LoggedMessages) -> None:
        super().__init__()
        self._messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        kept = self._messages.skips if record.name.endswith(_CUDA_GRAPHS) else self._messages.hints
        kept.append(record.getMessage())


@contextlib.contextmanager
def listen() -> Iterator[LoggedMessages]:
    """Collect torch's messages about performance, and leave its loggers as they were."""
    messages = LoggedMessages()
    handler = _Listener(messages)
    saved = []
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        saved.append((logger, logger.level, logger.propagate))
        if logger.getEffectiveLevel() > logging.DEBUG:
            logger.propagate = False
        logger.setLevel(logging.DEBUG)
        logger.addHandler(handler)
    try:
        yield messages
    finally:
        for logger, level, propagate in saved:
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagate


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
    device: torch.device,
    eager: Callable[[], object],
    compiled: Callable[[], object],
    places: Places,
    messages: LoggedMessages | None,
) -> DeviceChecks:
    """Run ``eager`` and ``compiled`` on ``device`` and look; ``messages`` is what Inductor said, where it was run."""
    unchecked: tuple[str, ...] = () if messages else ("Inductor's hints on speed, which a scan with `--ladder` gives",)
    caught = messages or LoggedMessages()
    if device.type != "cuda":
        unchecked = ("CUDA graphs", "peak device memory", "synchronisation points", *unchecked)
        return DeviceChecks(hints=hints(caught.hints), unchecked=unchecked)
    peak_eager, waits = _watched(device, eager, places)
    peak_compiled, _ = _watched(device, compiled, places)
    return DeviceChecks(peak_eager, peak_compiled, waits, hints(caught.skips), hints(caught.hints), unchecked)


def _watched(device: torch.device, run: Callable[[], object], places: Places) -> tuple[int, tuple[Hint, ...]]:
    """The peak of allocated bytes, and the lines that wait for the GPU (torch.cuda.set_sync_debug_mode)."""
    mode = torch.cuda.get_sync_debug_mode()
    torch.cuda.reset_peak_memory_stats(device)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            run()
        finally:
            torch.cuda.set_sync_debug_mode(mode)
    lines = Counter((w.filename, w.lineno) for w in caught if "synchronizing" in str(w.message))
    waits = tuple(
        Hint(
            "waits for the GPU", "keep the value in a tensor, or read it after the forward", places.show(path), line, n
        )
        for (path, line), n in lines.items()
    )
    return torch.cuda.max_memory_allocated(device), waits
