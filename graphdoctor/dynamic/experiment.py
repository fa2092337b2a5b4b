"""One target in one mode: eager, compiled, ``fullgraph=True``, explain, recompiles. Each step on a fresh sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from graphdoctor.dynamic import crosscheck, recompile
from graphdoctor.dynamic import numerics as compare
from graphdoctor.dynamic.backend import CountingBackend, OperatorCount
from graphdoctor.dynamic.breaks import RawEvent, distinct
from graphdoctor.dynamic.capture import raised, record
from graphdoctor.dynamic.load import source_of
from graphdoctor.dynamic.places import Places
from graphdoctor.dynamic.protocol import RunRequest
from graphdoctor.dynamic.target import Mode, Sample, Target
from graphdoctor.dynamic.trace_lines import executed_lines
from graphdoctor.dynamic.tree import tensors
from graphdoctor.dynamic.userfault import Fault, fault_of
from graphdoctor.model import DynamicRun, Explain, FullGraph, Numerics

Update = Callable[[DynamicRun], None]
Progress = Callable[[str], None]


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
        progress(f"running in eager ({self.mode})")
        try:
            eager, repeated, executed = self.eager()
        except BaseException as error:
            fault = fault_of(error, self.places, "in eager")
            return replace(run, outcome=fault.outcome, detail=fault.detail)
        run = replace(run, executed=executed)
        update(run)

        progress(f"compiling by default ({self.mode})")
        run, compiled = self.compiled(run)
        run = replace(run, numerics=self.numerics(eager, repeated, compiled))
        update(run)

        progress(f"compiling with fullgraph=True ({self.mode})")
        run = replace(run, fullgraph=self.fullgraph())
        update(run)

        if self.request.explain:
            progress(f"running torch._dynamo.explain ({self.mode})")
            run = replace(run, explain=self.explain(run))
            update(run)

        if self.target.variants is not None:
            progress(f"counting recompiles ({self.mode})")
            run = self.recompiles(run)
        return run

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
        self.backend.reset()
        sample = self.target.sample(self.mode)
        function = torch.compile(sample.function, backend=self.backend)
        snapshot: compare.Snapshot | None = None
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
        return replace(run, compiled_share=self._share(function, sample)), snapshot

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
            return compare.verdict({"compiled and eager differ": compare.compare(eager, compiled)}, note)
        original = compare.load(self.request.reference, self.mode)
        if original is None:
            return _not_compared("there is no eager output of the original source")
        against = {
            "compiled differs from the original": compare.compare(original, compiled),
            "eager differs from the original": compare.compare(original, eager),
        }
        return compare.verdict(against, note)

    def fullgraph(self) -> FullGraph:
        """The verdict of ``fullgraph=True``."""
        return crosscheck.fullgraph(self.target.sample(self.mode), self.backend, self.places)

    def explain(self, run: DynamicRun) -> Explain | None:
        """The cross-check with ``torch._dynamo.explain``."""
        return crosscheck.explain(self.target.sample(self.mode), run.breaks, run.graphs)

    def recompiles(self, run: DynamicRun) -> DynamicRun:
        """The variants, called in order."""
        try:
            return replace(run, recompiles=recompile.probe(self.target, self.mode, self.backend, self.places))
        except BaseException as error:
            return replace(run, detail=fault_of(error, self.places, "in a variant").detail)

    def _run(self, sample: Sample, function: Callable[..., Any] | None = None) -> compare.Snapshot:
        # Not `function or ...`: a compiled module has no truth value of its own.
        outputs = (sample.function if function is None else function)(*sample.args, **sample.kwargs)
        if self.mode == "train":
            loss = self.target.loss(outputs) if self.target.loss else default_loss(outputs)
            if loss is not None:
                torch.autograd.backward(loss)
        return compare.snapshot(sample, outputs)

    def _share(self, function: Callable[..., Any], sample: Sample) -> float | None:
        """Operators that run inside graphs / all operators of an eager forward; None when it cannot be counted.

        ``function`` is compiled already, so this is one more call, with fresh arguments.
        """
        try:
            fresh = self.target.sample(self.mode)
            with force_eager(), OperatorCount() as total:
                fresh.function(*fresh.args, **fresh.kwargs)
            again = self.target.sample(self.mode)
            with self.backend.measure() as inside:
                function(*again.args, **again.kwargs)
        except BaseException:  # operators that no dispatch mode handles, or state that the first call left
            return None
        # More inside than in all: the trace rewrote the operators, and the counts cannot be compared.
        return inside.calls / total.calls if 0 < total.calls >= inside.calls else None


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
