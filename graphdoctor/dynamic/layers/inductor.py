"""The backends of the ladder, and what their errors mean: what torch's compiler stack is made of."""

from __future__ import annotations

import contextlib
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import fx

from graphdoctor.breaks.backend_failures import layer_of_inductor
from graphdoctor.dynamic.tracing import private_torch

#: In this order each adds one layer: Dynamo alone, AOTAutograd, its decompositions and partitioner, code generation.
STAGES = ("eager", "aot_eager", "aot_eager_decomp_partition", "inductor")
#: What each stage adds.
LAYERS = {
    "eager": "Dynamo",
    "aot_eager": "AOTAutograd",
    "aot_eager_decomp_partition": "AOTAutograd (decompositions, partitioner)",
    "inductor": "Inductor",
}
_OPERATOR = re.compile(r"(?:target|Error in op): (?:torch\.ops\.)?(\w+\.\w+)")


class Kept:
    """A backend that keeps the graph it compiled or ran last, with its inputs."""

    def __init__(self, name: str) -> None:
        self._backend = private_torch.backend(name)
        self.graph: fx.GraphModule | None = None
        self.inputs: tuple[Any, ...] = ()

    def __call__(self, graph: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        self.graph, self.inputs = graph, tuple(example_inputs)
        compiled = self._backend(graph, example_inputs)

        def run(*args: Any) -> Any:
            self.graph, self.inputs = graph, args
            return compiled(*args)

        return run


def missing(name: str) -> str:
    """Why the stage cannot be run with this torch; empty when it can."""
    try:
        private_torch.backend(name)
    except Exception as error:
        return f"torch {torch.__version__} has no backend {name} ({type(error).__name__})"
    return ""


@contextlib.contextmanager
def settings() -> Iterator[None]:
    """Random numbers as in eager, no compile workers, nothing outside the cache folder. Other settings stay."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(private_torch.headers_in_cache_folder())
        with contextlib.suppress(ImportError):
            stack.enter_context(private_torch.inductor_config(fallback_random=True, compile_threads=1))
        yield


def layer(stage: str, error: BaseException) -> str:
    """Which layer ``error`` comes from: that of the stage, except for the compilers that Inductor itself calls."""
    if stage != "inductor":
        return LAYERS[stage]
    inner = getattr(error, "inner_exception", None) or error
    files = [frame.filename for frame in traceback.extract_tb(inner.__traceback__)]
    if type(inner).__module__.startswith("triton") or any("/triton/" in file for file in files[-3:]):
        return "Triton"
    return layer_of_inductor(f"{type(inner).__name__} {inner}")


def operator(text: str) -> str | None:
    """The operator that the text of an error names: ``aten.erfinv``."""
    found = _OPERATOR.search(text)
    return found[1] if found else None
