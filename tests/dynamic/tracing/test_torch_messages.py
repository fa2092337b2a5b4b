"""Messages of torch's artifact loggers."""

import logging

from torch._logging._internal import log_registry

from graphdoctor.dynamic.tracing import cuda_graphs, device
from graphdoctor.dynamic.tracing.torch_messages import listen

NAMES = (*device.LOGGERS, *cuda_graphs.LOGGERS)


def test_the_loggers_are_left_as_they_were() -> None:
    loggers = [logging.getLogger(name) for name in NAMES]
    before = [(logger.level, logger.propagate, list(logger.handlers)) for logger in loggers]
    with listen(NAMES) as messages:
        loggers[0].debug("Using FallbackKernel: %s", "aten.svd")
        loggers[-1].warning("skipping")
    assert messages == ["Using FallbackKernel: aten.svd", "skipping"]
    assert [(logger.level, logger.propagate, list(logger.handlers)) for logger in loggers] == before


def test_torch_still_has_these_artifacts() -> None:
    """Fails loudly where torch renames what the messages are read from."""
    assert {name.rpartition("__")[2] for name in NAMES} <= set(log_registry.artifact_names)
