"""One target in one mode: eager, compiled, ``fullgraph=True``, explain, recompiles. Each step on a fresh sample."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

import torch

from graphdoctor.dynamic import crosscheck, modules, reference, share, state, sweep
from graphdoctor.dynamic import numerics as compare
from graphdoctor.dynamic.backend import CountingBackend
from graphdoctor.dynamic.breaks import RawEvent, distinct
from graphdoctor.dynamic.capture import Recording, raised, record
from graphdoctor.dynamic.deeper import Deeper
from graphdoctor.dynamic.load import source_of
from graphdoctor.dynamic.places import Places
from graphdoctor.dynamic.protocol import RunRequest
from graphdoctor.dynamic.recompile import Probe
from graphdoctor.dynamic.target import Mode, Sample, Target
from graphdoctor.dynamic.tests_seen import Seen
from graphdoctor.dynamic.trace_lines import executed_lines
from graphdoctor.dynamic.tree import tensors
from graphdoctor.dynamic.userfault import Fault, fault_of
from graphdoctor.dynamic.varied import Varying
from graphdoctor.dynamic.vary import parse_variations
from graphdoctor.run_model import DynamicRun, Explain, FullGraph, Numerics, Sweep, Varied

Update = Callable[[DynamicRun], None]
Progress = Callable[[str], None]

#: Call operators of a model that is still swept when nobody asked for it: tracing takes about a millisecond for each.
MOST_OPERATORS = 1000


class Experiment:
    """The steps of one mode. ``update`` gets the run after each step, so that a crash later loses nothing."""

    def __init__(
        self, target: Target, mode: Mode, request: RunRequest, places: Places, backend: CountingBackend
    ) -> None:
        self.target = target
        self.mode = mode
        self.request = request
        self.places = places
        self.backend = backend

    def run(self, update: Update, progress: Progress) -> DynamicRun:
        """Run all steps. The user's exceptions end as outcome and detail, never as an exception."""
        run = DynamicRun(target=self.target.name, mode=self.mode, device=str(self.target.device), outcome="ok")
        if self.request.only_fullgraph:
            return replace(run, fullgraph=self.fullgraph())
        progress(f"running in eager ({self.mode})")
        try:
            before = compare.snapshot(self.target.sample(self.mode), None)
            eager, repeated, executed = self.eager()
        except BaseException as error:
            fault = fault_of(error, self.places, "in eager")
            return replace(run, outcome=fault.outcome, detail=fault.detail)
        run = replace(run, executed=executed)
        update(run)

        progress(f"compiling by default ({self.mode})")
        run, compiled = self.compiled(run)
        result = self.numerics(eager, repeated, compiled)
        run = replace(run, numerics=replace(result, mutated=compare.mutated(before, eager)))
        update(run)

        progress(f"compiling with fullgraph=True ({self.mode})")
        run = replace(run, fullgraph=self.fullgraph())
        update(run)

        if self.request.explain:
            progress(f"running torch._dynamo.explain ({self.mode})")
            run = replace(run, explain=self.explain(run))
            update(run)

        if self.request.recompiles:
            progress(f"counting recompiles ({self.mode})")
            run = self.recompiles(run)
            update(run)
        if not self.request.deeper:
            return run
        deeper = Deeper(self.target, self.mode, self.request, self.places, self.backend, self._run, self._loss)
        return deeper.run(run, eager, progress)

    def eager(self) -> tuple[compare.Snapshot, compare.Snapshot, Mapping[str, frozenset[int]]]:
        """Two eager runs of the same input, and the watched lines that ran."""
        with force_eager():
            first = self._run(self.target.sample(self.mode))
            with executed_lines(self.request.watch) as lines:
                second = self._run(self.target.sample(self.mode))
        if self.request.reference is not None and not self.request.compare:
            compare.save(first, self.request.reference, self.mode)
        return first, second, {self.places.show(path): frozenset(found) for path, found in lines.items()}

    def compiled(self, run: DynamicRun) -> tuple[DynamicRun, compare.Snapshot | None]:
        """The default compile: breaks, graphs, operators and the compiled share; the snapshot is None if it raised."""
        torch._dynamo.reset()
        self.backend.clear()
        sample = self.target.sample(self.mode)
        function = torch.compile(sample.function, backend=self.backend)
        snapshot: compare.Snapshot | None = None
        before = state.of(sample, self._modules())
        fault: Fault | None = None
        failure: RawEvent | None = None
        with record() as recording:
            try:
                snapshot = self._run(sample, function)
            except BaseException as error:
                fault, failure = fault_of(error, self.places, "under torch.compile"), raised(error)
        events = [*recording.events, failure] if failure else recording.events
        run = replace(
            run,
            breaks=distinct(events, self.places, source_of),
            graphs=self.backend.graphs,
            operators=self.backend.operators,
        )
        if fault is not None:
            return replace(run, outcome=fault.outcome, detail=fault.detail), None
        run = replace(run, unwritten=self._unwritten(state.written(before, state.of(sample, self._modules())).leaves))
        # Verifying a fix asks for breaks and results only.
        return (run if self.request.compare else self._shared(run, function, sample, recording)), snapshot

    def _unwritten(self, written: compare.Snapshot) -> tuple[str, ...]:
        """What the original's compiled run wrote and this one, of which ``written`` holds the names, did not."""
        if self.request.reference is None:
            return ()
        if not self.request.compare:
            compare.save(dict.fromkeys(written, True), self.request.reference, f"{self.mode}-written")
            return ()
        original = compare.load(self.request.reference, f"{self.mode}-written") or {}
        return tuple(name for name in original if name not in written)

    def numerics(
        self, eager: compare.Snapshot, repeated: compare.Snapshot, compiled: compare.Snapshot | None
    ) -> Numerics:
        """Compiled against eager; with ``compare``, both against the eager outputs of the original source."""
        noise = compare.compare(eager, repeated)
        if noise.where:
            return _not_compared(f"two eager runs of the same input already differ ({noise.where})")
        if compiled is None:
            return _not_compared("the compiled model raised")
        if not any(name.startswith("output") for name in compiled):
            return _not_compared("the output holds neither tensors nor numbers")
        note = f"two eager runs differ by up to {noise.max_abs_diff:.3g}" if noise.max_abs_diff else ""
        if not (self.request.compare and self.request.reference):
            difference = compare.compare(eager, compiled)
            if difference.where and (cleared := self._cleared(eager, compiled)):
                return compare.verdict({"compiled and eager differ": replace(difference, where=None)}, cleared)
            return compare.verdict({"compiled and eager differ": difference}, note)
        original = compare.load(self.request.reference, self.mode)
        if original is None:
            return _not_compared("there is no eager output of the original source")
        against = {
            "compiled differs from the original": compare.compare(original, compiled),
            "eager differs from the original": compare.compare(original, eager),
        }
        return compare.verdict(against, note)

    def varied(self, seen: Seen, update: Callable[[Varied], None], progress: Progress) -> Varied:
        """Eager runs on varied inputs: recorded in ``reference``, or compared with what was."""
        assert self.request.reference is not None
        progress(f"varying the inputs ({self.mode})")
        module = self.target.sample(self.mode).module
        trainable = module is not None and any(p.requires_grad for p in module.parameters())
        # What has no train mode is run with gradients in the mode that it has.
        backward = self.mode == "train" or not trainable

        def call(sample: Sample) -> tuple[Any, torch.Tensor | None]:
            return self._call(sample, backward=backward)

        varying = Varying(self.target, self.mode, call, self.request.reference, backward, self._modules(), self._is_own)
        with force_eager():
            if self.request.repeat:
                return varying.repeat()
            return varying.check() if self.request.compare else varying.record(seen, update)

    def _modules(self) -> list[ModuleType]:
        """The imported modules of the user's own code."""
        return [module for module in list(sys.modules.values()) if self._is_own(getattr(module, "__file__", None))]

    def _is_own(self, file: str | None) -> bool:
        return file is not None and not self.places.is_tool(file) and self.places.kind(file) == "own"

    def _cleared(self, eager: compare.Snapshot, compiled: compare.Snapshot) -> str:
        """Why the difference is no fault: both are as far from float64."""
        exact = reference.in_double(self.target, self.mode, self._run)
        return reference.cleared(eager, compiled, exact) if exact else ""

    def fullgraph(self) -> FullGraph:
        """The verdict of ``fullgraph=True``."""
        return crosscheck.fullgraph(self.target.sample(self.mode), self.backend, self.places)

    def explain(self, run: DynamicRun) -> Explain | None:
        """The cross-check with ``torch._dynamo.explain``."""
        return crosscheck.explain(self.target.sample(self.mode), run.breaks, run.graphs)

    def recompiles(self, run: DynamicRun) -> DynamicRun:
        """The variants and what ``--vary`` asks for, called in order; where there is neither, an automatic sweep."""
        probe = Probe(self.target, self.mode, self.backend, self.places)
        for plan in self._plans(run):
            try:
                made, found = probe.probe(plan)
            except BaseException as error:
                detail = fault_of(error, self.places, "in a variant").detail
                if not plan.automatic:
                    return replace(run, detail=detail)
                made, found = Sweep(plan.varied, True, 0, 0, f"stopped: {detail}"), ()
            run = replace(run, sweeps=(*run.sweeps, made), recompiles=(*run.recompiles, *found))
        return run

    def _plans(self, run: DynamicRun) -> list[sweep.Plan]:
        wanted = parse_variations(self.request.vary)
        plans = [*sweep.variants(self.target), *sweep.asked(self.target, self.mode, wanted)]
        # Once is enough for what nobody asked for, and cheap only where a compilation is.
        once = self.mode == ("train" if self.request.mode == "train" else "eval")
        if plans or not once or run.outcome != "ok" or not 0 < run.operators <= MOST_OPERATORS:
            return plans
        try:
            return sweep.automatic(self.target, self.mode)
        except BaseException:  # the sample ran a moment ago, so this is about what the sweep made of it
            return []

    def _run(self, sample: Sample, function: Callable[..., Any] | None = None) -> compare.Snapshot:
        outputs, loss = self._call(sample, function)
        found = compare.snapshot(sample, outputs)
        return found if loss is None else {**found, "loss": loss.detach().clone()}

    def _call(
        self, sample: Sample, function: Callable[..., Any] | None = None, backward: bool = False
    ) -> tuple[Any, torch.Tensor | None]:
        # Not `function or ...`: a compiled module has no truth value of its own.
        outputs = (sample.function if function is None else function)(*sample.args, **sample.kwargs)
        loss = self._loss(outputs) if backward or self.mode == "train" else None
        if loss is not None:
            torch.autograd.backward(loss)
        return outputs, loss

    def _loss(self, outputs: Any) -> torch.Tensor | None:
        return self.target.loss(outputs) if self.target.loss else default_loss(outputs)

    def _shared(
        self, run: DynamicRun, function: Callable[..., Any], sample: Sample, recording: Recording
    ) -> DynamicRun:
        """``run`` with the share of the operators of an eager forward that run inside graphs, by submodule.

        ``function`` is compiled already, so this is one more call, with fresh arguments.
        """
        try:
            fresh = self.target.sample(self.mode)
            with force_eager(), share.in_eager(fresh.module) as total:
                fresh.function(*fresh.args, **fresh.kwargs)
            again = self.target.sample(self.mode)
            with self.backend.measure(sample.module) as inside:
                function(*again.args, **again.kwargs)
        except BaseException:  # operators that no dispatch mode handles, or state that the first call left
            return run
        # More inside than in all: the trace rewrote the operators, and the counts cannot be compared.
        if 0 < total.total >= inside.total:
            run = replace(run, compiled_share=inside.total / total.total)
        if sample.module is None:
            return run
        nodes = modules.tree(sample.module, total, inside, run.breaks, recording, self.places.show)
        return replace(run, modules=nodes, blocks=modules.blocks(sample.module, nodes, recording))


def force_eager() -> Any:
    """A context in which functions that the user compiled run uncompiled."""
    return torch.compiler.set_stance("force_eager")


def default_loss(outputs: Any) -> torch.Tensor | None:
    """``outputs.loss``, else the sum of the means of all outputs that have a gradient; None when none has."""
    loss = outputs.get("loss") if isinstance(outputs, Mapping) else getattr(outputs, "loss", None)
    if isinstance(loss, torch.Tensor) and loss.requires_grad:
        return loss.mean()
    means = [t.abs().mean() if t.is_complex() else t.mean() for t in tensors(outputs) if t.requires_grad]
    return torch.stack([m.double() for m in means]).sum() if means else None


def _not_compared(why: str) -> Numerics:
    return Numerics(None, None, compare.TOLERANCE, why)
