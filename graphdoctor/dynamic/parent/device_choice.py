"""Which device a run is on where the user named none: the GPU, unless part of the code stays on the CPU."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace

from graphdoctor.dynamic.parent import runner
from graphdoctor.dynamic.parent.protocol import RunRequest, RunResult
from graphdoctor.model.runs import DynamicRun

#: How torch says that one operation was given tensors of several devices, or that a tensor is not where it has to be.
_MIXED = re.compile(
    r"the same device|is not on the expected device|but expected (?:it|them) to be on GPU|to have CUDA DeviceType"
    r"|Expected object of (?:device type|backend) "
    r"|Expected an? '\w+' device type for generator but found"
    r"|can't convert \S+ device type tensor to numpy"
    # Convolutions name the types of their tensors: one of them is of a GPU, the other is not.
    r"|\(torch\.cuda\.\w+\) and \w+ type \(torch\.(?!cuda\.)|\(torch\.(?!cuda\.)\w+\) and \w+ type \(torch\.cuda\."
)


def mixes_devices(detail: str) -> bool:
    """Whether ``detail``, of an exception, says that tensors of several devices met."""
    return _MIXED.search(detail) is not None


def why_on_cpu(device: str, detail: str) -> str:
    """The line of a report on the CPU where ``device`` was the choice; ``detail`` says what was raised there."""
    return f"run on the CPU: on {device} it ended with {detail}, because part of the code stays on the CPU"


def again_on_cpu(device: str) -> str:
    """The progress of what is run again, because it failed on ``device``."""
    return f"part of the code is not on {device}: running again, on the CPU"


def run(
    request: RunRequest,
    progress: Callable[[str], None],
    server: runner.Server | None = None,
    decided: runner.Decided = lambda _result: None,
) -> tuple[RunRequest, RunResult]:
    """``runner.run`` for the first run of some code; where the chosen GPU does not suit the code, on the CPU.

    Gives what was run as well, which later runs of the same code start from: they are on the same device, and compared
    with what this one saved.
    """
    started = time.monotonic()
    found = runner.run(request, progress, server, decided)
    mixed = _mixed(request, found)
    if mixed is None:
        return request, found
    progress(again_on_cpu(mixed.device))
    again = replace(request, device="cpu")
    if request.reference is not None:
        # What the first run saved stays as it is, in case that it is the one which counts.
        again = replace(again, reference=request.reference / "on-cpu")
        (request.reference / "on-cpu").mkdir()
    seconds = round(max(request.timeout - (time.monotonic() - started), request.timeout / 2), 1)
    try:
        second = runner.run(replace(again, timeout=seconds), progress, server, decided)
    except runner.NotStarted:
        return request, found
    if _came_to_an_end(second) <= _came_to_an_end(found):
        # The code itself asks for the GPU, or fails for another reason too.
        return request, found
    line = why_on_cpu(mixed.device, mixed.detail)
    return again, replace(second, runs=tuple(replace(each, left_out=(line, *each.left_out)) for each in second.runs))


def _mixed(request: RunRequest, found: RunResult) -> DynamicRun | None:
    """The run that failed because of a device which the user did not ask for."""
    if request.device != "auto":
        return None
    failed = (each for each in found.runs if each.outcome == "raised" and not each.fails_compiled)
    return next((each for each in failed if each.device.startswith("cuda") and mixes_devices(each.detail)), None)


def _came_to_an_end(found: RunResult) -> int:
    """How many runs came to their end in eager."""
    return sum(each.outcome == "ok" or each.fails_compiled for each in found.runs)
