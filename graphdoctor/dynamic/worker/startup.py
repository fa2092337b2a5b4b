"""What a worker process does before it runs anything."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Callable, Iterable

import torch

_ACCELERATORS = ("cuda", "hip", "xpu")
#: Empty, they hide the devices from a process that has not looked for them yet.
_HIDING = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK")


def warm_up() -> None:
    """Import what a request and the first compile import, so that no fork of this process has to.

    A compile initialises CUDA, and what was initialised cannot be used in a fork. Where torch was built for an
    accelerator, a fork of its own compiles and ends, and only the imports are repeated here.
    """
    import graphdoctor.dynamic.worker.execution  # noqa: F401

    # Dynamo has the collector look at everything after a compile.
    gc.freeze()
    if any(getattr(torch.version, accelerator, None) for accelerator in _ACCELERATORS):
        names = in_a_fork(_imported_by_a_compile)
        # Importing may initialise it as well, in some version of torch: then each fork imports for itself.
        if in_a_fork(lambda: _import(names)):
            _import(names)
    else:
        _compile()
    # The forks share these objects as long as they are not written to, and the collector writes to all it looks at.
    gc.collect()
    gc.freeze()


def _compile() -> None:
    layer = torch.nn.Linear(1, 1)
    torch.compile(layer, backend="eager")(torch.ones(1)).backward()
    torch.compiler.reset()


def _imported_by_a_compile() -> list[str]:
    """The names of the modules that a compile imports where there is no device, in their order."""
    os.environ.update(dict.fromkeys(_HIDING, ""))
    before = set(sys.modules)
    _compile()
    return [name for name in sys.modules if name not in before]


def _import(names: Iterable[str]) -> list[str]:
    """Import these modules, and give their names; none where this initialised CUDA."""
    for name in names:
        # Some modules are made by code, and no file has them.
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    initialised = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return [] if initialised else list(names)


def in_a_fork(work: Callable[[], list[str]]) -> list[str]:
    """What ``work`` returns in a fork of this process, which ends there; nothing where it raises or crashes."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            lines = work()
            with open(writer, "w", encoding="utf-8") as pipe:
                pipe.writelines(f"{line}\n" for line in lines)
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as pipe:
        lines = pipe.read().splitlines()
    os.waitpid(child, 0)
    return lines
