"""The backends of the ladder, and what their errors mean: the one module that knows torch's compiler stack by name."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch
from torch import fx

#: In this order each adds one layer: Dynamo alone, AOTAutograd, its decompositions and partitioner, code generation.
STAGES = ("eager", "aot_eager", "aot_eager_decomp_partition", "inductor")
#: What each stage adds.
LAYERS = {
    "eager": "Dynamo",
    "aot_eager": "AOTAutograd",
    "aot_eager_decomp_partition": "AOTAutograd (decompositions, partitioner)",
    "inductor": "Inductor",
}
#: In torch._inductor.codecache; not every version has them.
_HEADER_FOLDERS = ("_HEADER_DIR", "_HEADER_LOCK_DIR")
_OPERATOR = re.compile(r"(?:target|Error in op): (?:torch\.ops\.)?(\w+\.\w+)")


class Kept:
    """A backend that keeps the graph it compiled or ran last, with its inputs."""

    def __init__(self, name: str) -> None:
        self._backend = _backend(name)
        self.graph: fx.GraphModule | None = None
        self.inputs: tuple[Any, ...] = ()

    def __call__(self, graph: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        self.graph, self.inputs = graph, tuple(example_inputs)
        compiled = self._backend(graph, example_inputs)

        def run(*args: Any) -> Any:
            self.graph, self.inputs = graph, args
            return compiled(*args)

        return run


def _backend(name: str) -> Callable[..., Any]:
    if name == "inductor":
        # By its function: the worker puts another backend behind the name (graphdoctor/dynamic/tracing/backend.py).
        from torch._inductor.compile_fx import compile_fx

        return compile_fx
    from torch._dynamo.backends.registry import lookup_backend

    found: Callable[..., Any] = lookup_backend(name)
    return found


def missing(name: str) -> str:
    """Why the stage cannot be run with this torch; empty when it can."""
    try:
        _backend(name)
    except Exception as error:
        return f"torch {torch.__version__} has no backend {name} ({type(error).__name__})"
    return ""


@contextlib.contextmanager
def settings() -> Iterator[None]:
    """Random numbers as in eager, no compile workers, nothing outside the cache folder. Other settings stay."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(_headers())
        with contextlib.suppress(ImportError):
            from torch._inductor import config

            patched: AbstractContextManager[Any] = config.patch(fallback_random=True, compile_threads=1)
            stack.enter_context(patched)
        yield


@contextlib.contextmanager
def _headers() -> Iterator[None]:
    """Precompiled C++ headers go to the cache folder that is set; torch keeps them where all processes share them."""
    codecache, folder = sys.modules.get("torch._inductor.codecache"), os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    before = {name: getattr(codecache, name) for name in _HEADER_FOLDERS if folder and hasattr(codecache, name)}
    for name, shared in before.items():
        setattr(codecache, name, os.path.join(str(folder), *Path(shared).parts[-2:]))
    try:
        yield
    finally:
        for name, shared in before.items():
            setattr(codecache, name, shared)


def layer(stage: str, error: BaseException) -> str:
    """Which layer ``error`` comes from: that of the stage, except for the compilers that Inductor itself calls."""
    if stage != "inductor":
        return LAYERS[stage]
    inner = getattr(error, "inner_exception", None) or error
    names = f"{type(inner).__module__}.{type(inner).__name__} {inner}"
    files = [frame.filename for frame in traceback.extract_tb(inner.__traceback__)]
    if type(inner).__module__.startswith("triton") or any("/triton/" in file for file in files[-3:]):
        return "Triton"
    return "Inductor (C++ compiler)" if "CppCompileError" in names or "InvalidCxxCompiler" in names else "Inductor"


def operator(text: str) -> str | None:
    """The operator that the text of an error names: ``aten.erfinv``."""
    found = _OPERATOR.search(text)
    return found[1] if found else None
