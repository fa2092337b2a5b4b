"""The tree of a model: which share of each submodule is compiled, its graph breaks, its compilations."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import nn

from graphdoctor.dynamic.tracing.capture import Recording, Start
from graphdoctor.dynamic.tracing.compiled_share import Share
from graphdoctor.model.runs import Break
from graphdoctor.model.submodules import Blocks, ModuleNode, ModuleState

Show = Callable[[str], str]


@dataclass(frozen=True)
class Code:
    """The lines of a module's ``forward``; ``path`` is absolute."""

    path: str
    first: int
    last: int


def code_of(module: nn.Module) -> Code | None:
    """Where the ``forward`` of ``module`` is written; None where it is no Python function."""
    module = uncompiled(module)
    return _lines_of(getattr(module.forward, "__func__", module.forward))


def entries(module: nn.Module) -> tuple[tuple[str, int], ...]:
    """The functions (path, first line) that Dynamo compiles where the module is called: ``forward``, or a ``__call__``
    of its own (transformers' GradientCheckpointingLayer has one)."""
    call = type(uncompiled(module)).__call__
    codes = (code_of(module), None if call is nn.Module.__call__ else _lines_of(call))
    return tuple((code.path, code.first) for code in codes if code)


def _lines_of(function: Callable[..., object]) -> Code | None:
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return None
    lines = [line for _, _, line in code.co_lines() if line]
    return Code(code.co_filename, code.co_firstlineno, max(lines, default=code.co_firstlineno))


def uncompiled(module: nn.Module) -> nn.Module:
    """What ``torch.compile`` made ``module`` of, where the user compiled a submodule."""
    inner = getattr(module, "_orig_mod", None)
    return inner if isinstance(inner, nn.Module) else module


def tree(
    root: nn.Module, total: Share, inside: Share, breaks: Sequence[Break], recording: Recording, show: Show
) -> tuple[ModuleNode, ...]:
    """A node for each submodule, parents before children; ``show`` names absolute paths as breaks name them."""
    compilations = compiled_frames(recording.starts)
    all_operators, all_compiled = _with_ancestors(total), _with_ancestors(inside)
    nodes = []
    met = _met(root, total, breaks, show)
    for name, module in root.named_modules():
        operators, compiled = all_operators[name], all_compiled[name]
        nodes.append(
            ModuleNode(
                name=name,
                type=type(uncompiled(module)).__name__,
                state=_state(operators, compiled, total.entered[name] or not name),
                operators=operators,
                # More inside than in all: the trace rewrote the operators, and the counts cannot be compared.
                compiled_share=compiled / operators if 0 < operators >= compiled else None,
                breaks=len(met[name]),
                # Dynamo may trace a function and then drop it.
                compilations=max((compilations.get(entry, 0) for entry in entries(module)), default=0)
                if compiled
                else 0,
            )
        )
    return tuple(nodes)


def _met(root: nn.Module, total: Share, breaks: Sequence[Break], show: Show) -> dict[str, set[int]]:
    """The numbers of the breaks in or below each module. A container that is not called has those of what it holds.

    What is not called at all has none: those in the code of its class are of other modules of that class.
    """
    met: dict[str, set[int]] = {}
    for name, module in root.named_modules():
        code = code_of(module) if total.entered[name] else None
        met[name] = {number for number, found in enumerate(breaks) if not name or _holds(code, found, show)}
    for name in reversed(met):
        parent = name.rpartition(".")[0]
        if name and parent and not total.entered[parent]:
            met[parent] |= met[name]
    return met


def _with_ancestors(share: Share) -> Counter[str]:
    """The operators of each module and its submodules."""
    counts: Counter[str] = Counter()
    for path, number in share.operators.items():
        name = path
        while name:
            counts[name] += number
            name = name.rpartition(".")[0]
        counts[""] += number
    return counts


def _state(operators: int, compiled: int, entered: int) -> ModuleState:
    if not operators:
        return "no-operators" if entered else "not-called"
    if not compiled:
        return "eager"
    return "compiled" if compiled >= operators else "partly"


def _holds(code: Code | None, found: Break, show: Show) -> bool:
    """A frame of the break's stack is in ``code``. Stacks name lines, so modules of one class share their breaks."""
    if code is None:
        return False
    path = show(code.path)
    return any(frame.path == path and code.first <= frame.line <= code.last for frame in found.stack)


def compiled_frames(starts: Sequence[Start]) -> dict[tuple[str, int], int]:
    """How often the function at (path, first line) was compiled. What resumes after a break is a frame of its own."""
    counts: dict[tuple[str, int], int] = {}
    for (_, path, line), count in Counter((s.frame, s.path, s.line) for s in starts).items():
        counts[path, line] = max(count, counts.get((path, line), 0))
    return counts


def abandoned(recording: Recording) -> set[tuple[str, int]]:
    """The functions (path, first line) at the recompile limit: their guards failed and no compilation began."""
    places = {start.frame: (start.path, start.line) for start in recording.starts}
    began = {(start.frame, start.attempt) for start in recording.starts}
    return {
        places[failed.frame]
        for failed in recording.recompiles
        if failed.frame in places and (failed.frame, failed.attempt) not in began
    }


def repeated(root: nn.Module) -> list[tuple[str, ...]]:
    """The names of blocks: siblings of one class whose parameters and buffers have the same shapes."""
    groups: dict[tuple[object, ...], list[str]] = {}
    for name, module in root.named_modules():
        shapes = tuple((n, tuple(p.shape)) for n, p in [*module.named_parameters(), *module.named_buffers()])
        # A module without submodules (a ReLU, a Linear) is no block.
        if name and [*uncompiled(module).children()]:
            groups.setdefault((name.rpartition(".")[0], type(uncompiled(module)), shapes), []).append(name)
    return [tuple(names) for names in groups.values() if len(names) > 1]


def blocks(root: nn.Module, nodes: Sequence[ModuleNode], recording: Recording) -> tuple[Blocks, ...]:
    """How often the ``forward`` of each group of blocks was compiled. 0: it is part of its caller's graphs."""
    given_up = abandoned(recording)
    by_name = {node.name: node for node in nodes}
    found = []
    for names in repeated(root):
        node = by_name[names[0]]
        if any(by_name[name].state in ("not-called", "no-operators") for name in names):
            continue
        at_limit = any(entry in given_up for entry in entries(root.get_submodule(names[0])))
        found.append(Blocks(node.type, names, node.compilations, at_limit))
    return tuple(found)
