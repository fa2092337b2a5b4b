"""Which calls replay CUDA graphs. Not a rule."""

from __future__ import annotations

import re

from graphdoctor.static.usage.events import Operation, compiled, same_run, unwrapped

from ._shared import device_of, records_cuda_graphs

#: Words without which nothing is moved to a GPU.
_DEVICES = re.compile(r"cuda|device|gpu|rank|accelerat|fabric|trainer", re.IGNORECASE)


def calls_graphs(made: Operation, text: str) -> bool:
    """Whether what a step calls surely uses CUDA graphs where there is a GPU; ``text`` is that of the file."""
    receiver = made.receiver
    step = compiled(receiver) if receiver is not None else None
    if step is None or receiver is None or receiver.unsure or not records_cuda_graphs(step):
        return False
    if (
        step.option("disable") is True
        or same_run(step.path, made.path, "likely") is None
        or device_of(receiver) == "cpu"
    ):
        return False
    # What the file makes and moves nowhere is on the CPU.
    inner = unwrapped(receiver)
    is_own = inner.maker is not None or inner.code is not None
    return not is_own or bool(_DEVICES.search(text))


def is_sure(made: Operation) -> bool:
    """Whether it uses them whatever the conditions of the program, for a model that is surely on a GPU."""
    receiver = made.receiver
    step = compiled(receiver) if receiver is not None else None
    if step is None or receiver is None or not set(step.path) <= set(made.path):
        return False
    # A switch that is not known may leave it uncompiled.
    enabled = "disable" not in step.kwargs or step.option("disable") is False
    return enabled and device_of(receiver) == "cuda"
