"""The smallest part of a graph with which a backend still changes the answer: by halves, then one operator alone."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

#: Whether a graph with these inputs is treated wrongly.
Wrong = Callable[[fx.GraphModule, Sequence[Any]], bool]

_CALLS = ("call_function", "call_method")


@dataclass(frozen=True)
class Part:
    """A graph that is treated wrongly, and of the operator in which that starts its name, submodule and place."""

    graph: fx.GraphModule
    inputs: tuple[Any, ...]
    operator: str = ""
    submodule: str = ""
    place: str = ""


def minimised(graph: fx.GraphModule, inputs: Sequence[Any], wrong: Wrong) -> list[Part]:
    """The parts that are treated wrongly, the smallest first; the whole graph is the last."""
    parts = [Part(graph, tuple(inputs))]
    calls = [node for node in graph.graph.nodes if node.op in _CALLS]
    low, high = 0, len(calls) - 1
    # The first operator up to which the graph has to be kept. Each look compiles once.
    while low < high:
        middle = (low + high) // 2
        if _holds(_up_to(graph, inputs, calls[middle]), wrong):
            high = middle
        else:
            low = middle + 1
    if not calls or (cut := _up_to(graph, inputs, calls[low])) is None or not _holds(cut, wrong):
        return parts
    named = Part(*cut, _name(calls[low]), _submodule(calls[low]), _place(calls[low]))
    parts.insert(0, named)
    alone = _alone(graph, inputs, calls[low])
    if alone is not None and _holds(alone, wrong):
        parts.insert(0, Part(*alone, named.operator, named.submodule, named.place))
    return parts


_Cut = tuple[fx.GraphModule, tuple[Any, ...]]


def _holds(cut: _Cut | None, wrong: Wrong) -> bool:
    if cut is None:
        return False
    try:
        return wrong(*cut)
    except Exception:  # a part of a graph need not run
        return False


def _up_to(graph: fx.GraphModule, inputs: Sequence[Any], last: fx.Node) -> _Cut | None:
    """``graph`` ended after ``last``, whose value it returns; None where that is no tensor."""
    made = fx.Graph()
    known: dict[fx.Node, fx.Node] = {}
    kept: list[Any] = []
    values = iter(inputs)
    needed = _needed(last)
    for node in graph.graph.nodes:
        value = next(values, None) if node.op == "placeholder" else None
        if node in needed:
            known[node] = made.node_copy(node, lambda other: known[other])
            kept += [value] if node.op == "placeholder" else []
        if node is last:
            break
    made.output((known[last],))
    return fx.GraphModule(graph, made), tuple(kept)


def _needed(last: fx.Node) -> set[fx.Node]:
    """``last``, what it needs, and what is written in place before it to what it needs."""
    needed, pending = set[fx.Node](), [last]
    while pending:
        node = pending.pop()
        if node not in needed:
            needed.add(node)
            pending += node.all_input_nodes
            pending += [user for user in node.users if _writes(user) and user < last]
    return needed


def _writes(node: fx.Node) -> bool:
    name = str(getattr(node.target, "__name__", node.target))
    return node.op in _CALLS and (name.endswith("_") or name in ("setitem", "iadd", "imul", "isub"))


def _alone(graph: fx.GraphModule, inputs: Sequence[Any], node: fx.Node) -> _Cut | None:
    """``node`` alone, with what it gets in the graph as inputs."""
    values: dict[fx.Node, Any] = {}

    class Keeping(fx.Interpreter):
        def run_node(self, n: fx.Node) -> Any:
            found = super().run_node(n)
            values[n] = found
            return found

    with contextlib.suppress(Exception), torch.no_grad():
        Keeping(graph).run(*copy.deepcopy(tuple(inputs)))
    needed = node.all_input_nodes
    if not all(isinstance(values.get(other), torch.Tensor) for other in needed):
        return None
    made = fx.Graph()
    known = {other: made.placeholder(f"x{number}") for number, other in enumerate(needed)}
    made.output((made.node_copy(node, lambda other: known[other]),))
    return fx.GraphModule(graph, made), tuple(values[other].detach().clone() for other in needed)


def _name(node: fx.Node) -> str:
    return str(getattr(node.target, "__name__", node.target)).removeprefix("_")


def _submodule(node: fx.Node) -> str:
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return str(stack[-1][0]) if stack else ""


def _place(node: fx.Node) -> str:
    """The line of the user's code, as in a traceback."""
    lines = [line.strip() for line in str(node.meta.get("stack_trace") or "").splitlines()]
    frames = [line for line in lines if line.startswith("File ")]
    return frames[-1] if frames else ""
