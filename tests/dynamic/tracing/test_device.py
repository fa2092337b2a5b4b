"""What torch says about speed, and what is not checked without a GPU. Nothing here needs one."""

import logging
from pathlib import Path

import torch
from torch._logging._internal import log_registry

from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.tracing import device

PLACES = Places(root="/", own=("/",), torch=str(Path(torch.__file__).parent))


def test_hints_are_kept_once_and_only_with_something_to_do() -> None:
    said = ["Using FallbackKernel: aten.sort", "Skip comprehensive padding on CPU", "Using FallbackKernel: aten.sort"]
    (hint,) = device.hints(said)
    assert (hint.text, hint.events) == ("Using FallbackKernel: aten.sort", 2)
    assert "`aten.sort`" in hint.action


def test_the_loggers_are_left_as_they_were() -> None:
    loggers = [logging.getLogger(name) for name in device._LOGGERS]
    before = [(logger.level, logger.propagate, list(logger.handlers)) for logger in loggers]
    with device.listen() as messages:
        loggers[0].debug("Using FallbackKernel: aten.svd")
        loggers[-1].warning("skipping cudagraphs due to mutated inputs (1 instances)")
    assert (messages.hints, len(messages.skips)) == (["Using FallbackKernel: aten.svd"], 1)
    assert "buffer" in device.hints(messages.skips)[0].action
    assert [(logger.level, logger.propagate, list(logger.handlers)) for logger in loggers] == before


def test_torch_still_has_these_artifacts() -> None:
    """Fails loudly where torch renames what the hints are read from."""
    assert {"perf_hints", "cudagraphs"} <= set(log_registry.artifact_names)


def test_without_a_gpu_nothing_runs_and_the_gaps_are_named() -> None:
    def never() -> None:
        raise AssertionError("must not run")

    checks = device.check(torch.device("cpu"), never, never, PLACES, None)
    assert "peak device memory" in checks.unchecked
    assert any("--ladder" in line for line in checks.unchecked)
    assert not any(
        "--ladder" in line
        for line in device.check(torch.device("cpu"), never, never, PLACES, device.LoggedMessages()).unchecked
    )
