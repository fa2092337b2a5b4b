"""The backend of all runs: it runs each graph as traced (like ``backend="eager"``) and counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch import fx, nn

from graphdoctor.dynamic.tracing import private_torch
from graphdoctor.dynamic.tracing.compiled_share import Inside, Share

_CALLS = ("call_function", "call_method", "call_module")


class CountingBackend:
    """``graphs`` compiled since ``clear``, the call ``operators`` in them, and how many a break ended (``reasons``).

    It has no method ``reset``: ``torch._dynamo.reset()`` would call it, and the counts would be gone.
    """

    def __init__(self) -> None:
        self.graphs = 0
        self.operators = 0
        self.reasons = 0
        #: Operators of each graph.
        self.sizes: list[int] = []
        self._inside: Inside | None = None

    def clear(self) -> None:
        """Start counting again from zero."""
        self.graphs = self.operators = self.reasons = 0
        self.sizes = []

    @contextmanager
    def measure(self, root: nn.Module | None = None) -> Iterator[Share]:
        """Count the operators that run inside graphs while the block runs, in the submodules of ``root``."""
        self._inside = Inside(root)
        try:
            yield self._inside.share
        finally:
            self._inside = None

    def __call__(self, graph: fx.GraphModule, _example_inputs: Sequence[Any]) -> Callable[..., Any]:
        self.graphs += 1
        self.sizes.append(sum(node.op in _CALLS for node in graph.graph.nodes))
        self.operators += self.sizes[-1]
        self.reasons += bool(getattr(getattr(graph, "compile_subgraph_reason", None), "graph_break", False))

        def run(*args: Any) -> Any:
            return self._inside.run(graph, args) if self._inside else graph.forward(*args)

        return run


def replace_inductor(backend: CountingBackend) -> None:
    """Let the user's own ``torch.compile`` calls use ``backend`` where they would use inductor.

    Breaks are found before a backend runs, so they stay the same; nothing waits for generated code, and graphs are
    counted wherever they are compiled. fullgraph, dynamic and backends other than inductor hold.
    """
    private_torch.set_inductor(backend)
