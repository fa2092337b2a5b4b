"""What a worker process does before it runs anything."""

from __future__ import annotations

import gc

import torch


def warm_up() -> None:
    """Import what the first compile imports, so that no fork of this process has to.

    A compile initialises CUDA, and what was initialised cannot be used in a fork: so that nothing is compiled where
    torch was built for an accelerator.
    """
    import graphdoctor.dynamic.worker.experiment  # noqa: F401

    if not any(getattr(torch.version, accelerator, None) for accelerator in ("cuda", "hip", "xpu")):
        layer = torch.nn.Linear(1, 1)
        torch.compile(layer, backend="eager")(torch.ones(1)).backward()
        torch.compiler.reset()
    # The forks share these objects as long as they are not written to, and the collector writes to all it looks at.
    gc.collect()
    gc.freeze()
