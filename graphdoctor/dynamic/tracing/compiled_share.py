"""Which operators run in which submodule, and which of them inside graphs.

In eager, hooks that torch calls for every module tell which one is running. Inside a graph each node names its module
by a path from a local variable of the compiled frame (``nn_module_stack``, torch/_dynamo/output_graph.py), and that
frame is running when the graph is called: so two blocks that share one compiled function are told apart.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from torch import fx, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from graphdoctor.dynamic.tracing.private_torch import TorchDispatchMode

#: ``L['self'].blocks.0`` (torch 2.13), ``L['self'].blocks[0]``, ``L['self']._modules['blocks']``: the parts of a path.
_ROOT = re.compile(r"L\['(\w+)'\]")
_STEP = re.compile(r"\.(\w+)|\['([^']+)'\]|\[(\d+)\]")


@dataclass
class Share:
    """Operators by the name of the module that runs them itself, its submodules' left out; ``entered`` counts calls."""

    operators: Counter[str] = field(default_factory=Counter)
    entered: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        """All operators that were counted."""
        return self.operators.total()


def in_one_graph(total: Share, inside: Share) -> Share:
    """``total`` of code that is one graph: eager also runs what is a constant there, which is nothing left to eager."""
    return Share(inside.operators, total.entered)


class _Dispatched(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, see: Callable[[], object]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._see = see

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._see()
        return func(*args, **(kwargs or {}))


def names_of(root: nn.Module | None) -> dict[int, str]:
    """The names of all submodules by identity; the model's own is empty."""
    return {} if root is None else {id(module): name for name, module in root.named_modules()}


@contextmanager
def in_eager(root: nn.Module | None) -> Iterator[Share]:
    """Count the operators that reach the dispatcher while the block runs, in the submodules of ``root``.

    The hooks are global ones, because some modules leave their fast path when they have a hook of their own.
    """
    share = Share()
    names = names_of(root)
    running = [""]

    def enter(module: nn.Module, _args: Any) -> None:
        if id(module) in names:
            running.append(names[id(module)])
            share.entered[running[-1]] += 1

    def leave(module: nn.Module, _args: Any, _output: Any) -> None:
        if id(module) in names:
            running.pop()

    def see() -> None:
        share.operators[running[-1]] += 1

    handles = [register_module_forward_pre_hook(enter), register_module_forward_hook(leave, always_call=True)]
    try:
        with _Dispatched(see):
            yield share
    finally:
        for handle in handles:
            handle.remove()


class Inside:
    """Runs graphs as traced and counts their operators in the submodules of ``root``."""

    def __init__(self, root: nn.Module | None = None) -> None:
        self.share = Share()
        self._root = root
        self._names = names_of(root)

    def run(self, graph: fx.GraphModule, args: tuple[Any, ...]) -> Any:
        """Call ``graph``. Dynamo traces nothing under a dispatch mode, so the mode is entered here."""
        owner, variables = self._caller(sys._getframe(1))
        interpreter = _Counting(graph, self, owner, variables)
        with _Dispatched(interpreter.see):
            return interpreter.run(*args)

    def name(self, node: fx.Node, owner: str, variables: dict[str, Any]) -> str:
        """The module that ``node`` belongs to; ``owner``, whose frame was compiled, where the node names none."""
        stack = node.meta.get("nn_module_stack")
        if not stack:
            return owner
        path = next(reversed(stack.values()))[0]
        return self._names.get(id(resolve(path, variables)), owner)

    def _caller(self, frame: FrameType | None) -> tuple[str, dict[str, Any]]:
        """The nearest frame whose ``self`` is a submodule: its name, and the local variables that paths start from.

        A function that resumes after a graph break has no ``self`` where it is not used any more; its caller has.
        """
        variables: dict[str, Any] = {}
        while frame is not None:
            this = frame.f_locals.get("self")
            variables = {**frame.f_locals, **variables}
            if id(this) in self._names:
                return self._names[id(this)], {**variables, "self": this}
            frame = frame.f_back
        return "", {**variables, "self": self._root}


class _Counting(fx.Interpreter):
    def __init__(self, graph: fx.GraphModule, inside: Inside, owner: str, variables: dict[str, Any]) -> None:
        super().__init__(graph)
        self._inside, self._owner, self._variables = inside, owner, variables
        self._name = owner

    def see(self) -> None:
        self._inside.share.operators[self._name] += 1

    def run_node(self, n: fx.Node) -> Any:
        self._name = self._inside.name(n, self._owner, self._variables)
        return super().run_node(n)


def resolve(path: str, variables: dict[str, Any]) -> Any:
    """What ``path`` names, starting from ``variables``; None where it leads nowhere."""
    root = _ROOT.match(path)
    if root is None:
        return None
    found = variables.get(root[1])
    for attribute, key, index in _STEP.findall(path, root.end()):
        if attribute == "_modules":
            continue
        part = attribute or key or index
        if not isinstance(found, nn.Module):
            return None
        found = found._modules.get(part)
    return found
