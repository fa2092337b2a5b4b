"""The backend of all runs: it runs each graph as traced (like ``backend="eager"``) and counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import fx
from torch.utils._python_dispatch import TorchDispatchMode

_CALLS = ("call_function", "call_method", "call_module")


class OperatorCount(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the operators that reach the dispatcher while it is entered; ``calls`` is the total."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls += 1
        return func(*args, **(kwargs or {}))


class CountingBackend:
    """``graphs`` compiled since ``reset``, and the call ``operators`` in them."""

    def __init__(self) -> None:
        self.graphs = 0
        self.operators = 0
        self._inside: OperatorCount | None = None

    def reset(self) -> None:
        """Start counting anew."""
        self.graphs = self.operators = 0

    @contextmanager
    def measure(self) -> Iterator[OperatorCount]:
        """Count the operators that run inside graphs while the block runs.

        Dynamo does not trace under a dispatch mode, so the mode is entered around each graph, not around the call.
        """
        self._inside = OperatorCount()
        try:
            yield self._inside
        finally:
            self._inside = None

    def __call__(self, graph: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        self.graphs += 1
        self.operators += sum(node.op in _CALLS for node in graph.graph.nodes)

        def run(*args: Any) -> Any:
            with self._inside or nullcontext():
                return graph.forward(*args)

        return run


def replace_inductor(backend: CountingBackend) -> None:
    """Let the user's own ``torch.compile`` calls use ``backend`` where they ask for inductor.

    Breaks are found before a backend runs, so they stay the same; nothing waits for generated code, and graphs are
    counted wherever they are compiled. fullgraph, dynamic and backends other than inductor hold.
    ``_TorchCompileInductorWrapper`` (torch/__init__.py) is what ``torch.compile`` makes of ``backend="inductor"``.
    """

    def call(self: object, graph: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        return backend(graph, example_inputs)

    torch._TorchCompileInductorWrapper.__call__ = call  # type: ignore[method-assign, assignment]
