"""Bottom-up: which submodules compile alone with ``fullgraph=True``, on the inputs of one eager run.

The model is searched from the top, and only what fails is opened: whatever lies in a submodule that compiles as one
graph compiles, too. Submodules that Dynamo cannot tell apart are tried once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import nn

from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.modules import recorded_calls, tree
from graphdoctor.dynamic.tracing import crosscheck
from graphdoctor.dynamic.tracing.backend import CountingBackend
from graphdoctor.dynamic.tracing.capture import record
from graphdoctor.dynamic.user_code import fresh
from graphdoctor.dynamic.user_code.target import Mode, Target, seed
from graphdoctor.model.runs import DynamicRun, FullGraph
from graphdoctor.model.submodules import Blocks, ModuleVerdict, Readiness

#: Submodules that are compiled at most. The search opens what fails, so a large model with one break needs few.
MOST_COMPILED = 100


def check(target: Target, mode: Mode, run: DynamicRun, backend: CountingBackend, places: Places) -> Readiness | None:
    """What of the model compiles alone; None where the target is no module. Raises what the user's code raises."""
    recorded = recorded_calls.record(target.sample(mode))
    root = target.sample(mode).module
    return None if root is None else _Search(root, recorded, run, backend, places).result()


class _Search:
    def __init__(
        self,
        root: nn.Module,
        recorded: Mapping[str, recorded_calls.Call],
        run: DynamicRun,
        backend: CountingBackend,
        places: Places,
    ) -> None:
        self._root = root
        self._recorded = recorded
        self._whole = run.fullgraph
        self._operators = {node.name: node.operators for node in run.modules}
        self._backend = backend
        self._places = places
        self._known: dict[tuple[object, ...], ModuleVerdict] = {}
        self._compiled = 0
        self._ready: list[ModuleVerdict] = []
        self._culprits: list[ModuleVerdict] = []

    def result(self) -> Readiness:
        self._visit("", self._root)
        left_out = self._compiled >= MOST_COMPILED
        return Readiness(
            ready=tuple(sorted(self._ready, key=lambda verdict: -verdict.operators)),
            culprits=tuple(sorted(self._culprits, key=lambda verdict: verdict.operators)),
            compiled=self._compiled,
            detail=f"stopped after {MOST_COMPILED} submodules" if left_out else "",
        )

    def _visit(self, name: str, module: nn.Module) -> list[ModuleVerdict]:
        """The verdicts of what failed in ``module``, itself included."""
        verdict = self._verdict(name, module)
        if verdict.ready:
            self._ready.append(verdict)
            return []
        failed = [bad for child, part in self._called_below(name, module) for bad in self._visit(child, part)]
        # It stops at its first failure. Where that is one of a submodule, nothing is known of its own code.
        inside = any(bad.ready is False and (bad.path, bad.line) == (verdict.path, verdict.line) for bad in failed)
        if not inside and not (verdict.ready is None and failed):
            self._culprits.append(verdict)
        return [verdict, *failed]

    def _called_below(self, name: str, module: nn.Module) -> list[tuple[str, nn.Module]]:
        """The nearest submodules that were called: a ModuleList is none."""
        found = []
        for child, part in module.named_children():
            full = f"{name}.{child}" if name else child
            found += [(full, part)] if full in self._recorded else self._called_below(full, part)
        return found

    def _verdict(self, name: str, module: nn.Module) -> ModuleVerdict:
        blank = ModuleVerdict(name, type(module).__name__, self._operators.get(name, 0), None)
        if not name:
            return _with(blank, self._whole)
        call = self._recorded[name]
        if call.inputs is None:
            return replace(blank, error="not tried: its inputs cannot be copied")
        if self._compiled >= MOST_COMPILED:
            return replace(blank, error="not tried")
        key = recorded_calls.alike(module, call)
        known = self._known.get(key)
        if known is not None:
            return replace(known, name=name, operators=blank.operators, like=known.name)
        self._compiled += 1
        self._known[key] = self._tried(blank, module, call)
        return self._known[key]

    def _tried(self, blank: ModuleVerdict, module: nn.Module, call: recorded_calls.Call) -> ModuleVerdict:
        seed()
        result = crosscheck.fullgraph(call.sample(_own(module)), self._backend, self._places)
        if result.passes is False:
            sample = call.sample(_own(module))
            try:
                with torch.compiler.set_stance("force_eager"):
                    sample.function(*sample.args, **sample.kwargs)
            except BaseException as error:
                return replace(blank, error=f"does not run alone: {crosscheck.short(error)}")
        return _with(blank, result)


def _with(blank: ModuleVerdict, result: FullGraph) -> ModuleVerdict:
    return replace(blank, ready=result.passes, error=result.error, path=result.path, line=result.line)


def _own(module: nn.Module) -> nn.Module:
    """A copy, so that no try sees what another one left behind; the module itself where it cannot be copied."""
    try:
        return fresh.copied(module, fresh.is_large(module))
    except Exception:
        return module


def each_alone(target: Target, mode: Mode, groups: Sequence[Blocks], backend: CountingBackend) -> tuple[Blocks, ...]:
    """``groups`` with what is compiled where every block is compiled for itself, as ``block.compile()`` does."""
    counted = []
    for group in groups:
        torch._dynamo.reset()
        sample = target.sample(mode)
        assert sample.module is not None
        for name in group.names:
            sample.module.get_submodule(name).compile(backend=backend)
        with record() as recording:
            sample.function(*sample.args, **sample.kwargs)
        # Nothing but the blocks is compiled here, so their function is the one that was compiled most.
        alone = max(tree.compiled_frames(recording.starts).values(), default=0)
        counted.append(replace(group, alone=alone, alone_at_limit=bool(tree.abandoned(recording))))
    return tuple(counted)
