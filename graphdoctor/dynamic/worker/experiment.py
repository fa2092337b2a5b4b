"""One target in one mode: eager, compiled, ``fullgraph=True``. Each step on a fresh sample."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import torch

from graphdoctor.breaks.grouping import RawEvent, dropped_functions, numbered
from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.modules import tree
from graphdoctor.dynamic.modules.graph_order import pieces
from graphdoctor.dynamic.numerics import comparison as compare
from graphdoctor.dynamic.numerics import gradients, reference, state
from graphdoctor.dynamic.parent import stages
from graphdoctor.dynamic.parent.protocol import RunRequest
from graphdoctor.dynamic.recompiles.within_call import recompiles_of_one_call
from graphdoctor.dynamic.tracing import compiled_share, crosscheck
from graphdoctor.dynamic.tracing.backend import CountingBackend
from graphdoctor.dynamic.tracing.capture import Recording, raised, record
from graphdoctor.dynamic.tracing.line_coverage import executed_lines
from graphdoctor.dynamic.tracing.private_torch import checkpoints_without_gradients, forget_divergences, traced_lines
from graphdoctor.dynamic.user_code.default_loss import default_loss
from graphdoctor.dynamic.user_code.load import source_of
from graphdoctor.dynamic.user_code.target import Mode, Sample, Target
from graphdoctor.dynamic.user_code.user_errors import Fault, fault_of
from graphdoctor.dynamic.worker import compiled_otherwise, later_calls, out_of_memory
from graphdoctor.dynamic.worker.budget import Budget
from graphdoctor.dynamic.worker.later_breaks import CALLS, with_later_calls
from graphdoctor.dynamic.worker.training import TrainingStep
from graphdoctor.model.runs import DynamicRun, FullGraph, Numerics

_DIFFER = "compiled and eager differ"
_NO_GRADIENTS = (
    "gradients that compiled code alone has were not compared: eager code has none where a checkpoint with "
    "use_reentrant=True is given nothing that requires them"
)
_TWO_DIFFER = "two eager runs of the same input already differ ({})"

Update = Callable[[DynamicRun, bool], None]
Progress = Callable[[str], None]


@dataclass(frozen=True)
class _Eager:
    """An eager run: what it was given, what it left behind, the watched lines that ran, and the operators by submodule.

    ``total`` is None where the operators were not counted. ``lacks_gradients``: a reentrant checkpoint gave none,
    because nothing that it was given requires them.
    """

    before: compare.Snapshot
    after: compare.Snapshot
    lines: Mapping[str, frozenset[int]]
    total: compiled_share.Share | None
    lacks_gradients: bool = False


#: The name of the file, beside the results of the original, which says that the code goes backward itself.
GOES_BACKWARD = "goes-backward"


class Experiment:
    """The steps of one mode that the verdict is made of.

    ``update`` gets the run after each step, and whether the breaks are known: what fails later does not take them away.
    """

    def __init__(
        self,
        target: Target,
        mode: Mode,
        request: RunRequest,
        places: Places,
        backend: CountingBackend,
        budget: Budget | None = None,
    ) -> None:
        self.target = target
        self.mode = mode
        self.request = request
        self.places = places
        self.backend = backend
        self.budget = budget or Budget(request.timeout)
        self._expected: compare.Snapshot | None = None
        #: By file, whether it is the user's own: it is asked for every module, again and again.
        self._own: dict[str, bool] = {}
        #: The default compile gave one graph of one frame, and nothing broke.
        self._is_one_graph = False
        #: Whether a loss goes backward in train mode: not where the code does that itself, which leaves it no graph.
        self.goes_backward = True
        #: Every how many numbers of the gradients one was kept.
        self._thinned = 1

    @property
    def is_main(self) -> bool:
        """Whether this is the mode for what one mode is enough for."""
        return self.mode == ("train" if self.request.mode == "train" else "eval")

    def blank(self) -> DynamicRun:
        """The run before anything is known of it."""
        device = str(self.target.device)
        blank = DynamicRun(self.target.name, self.mode, device, outcome="ok", of_module=self.target.of_module)
        return replace(blank, inputs=self.target.inputs, left_out=self.target.altered)

    def run(self, update: Update, progress: Progress) -> DynamicRun:
        """Run the steps. The user's exceptions end as outcome and detail, never as an exception."""
        run = self.blank()
        if self.request.only_fullgraph:
            return replace(run, fullgraph=self.fullgraph())
        progress(f"{stages.EAGER} ({self.mode})")
        # What is said of a fault may run the model again: outside ``except``, whose exception keeps frames and tensors.
        fault: Fault | None = None
        try:
            eager = self.eager()
        except BaseException as error:
            fault = fault_of(error, self.places, "in eager")
        if fault is not None:
            with force_eager():
                return fault.ended(run, self._detail(fault, self.call))
        run = replace(run, executed=later_calls.lines(self, eager.lines))
        update(run, False)

        progress(f"{stages.COMPILE} ({self.mode})")
        run, compiled = self.compiled(run, eager.total)
        result = self.numerics(eager, compiled)
        if not result.equal and compiled is not None and eager.total is not None:
            # It may be the counting that makes the difference.
            result = self.numerics(self._eager(counted=False), self.compiled(run, None)[1])
        run = replace(run, numerics=replace(result, mutated=compare.mutated(eager.before, eager.after)))
        run = replace(run, cost=(self.budget.eager, self.budget.compile))
        # With a fix, what fails later is the fault of the fix.
        update(run, not self.request.compare)

        if self._is_one_graph:
            # fullgraph=True would trace the same frame to the same graph.
            run = replace(run, fullgraph=FullGraph(True))
        else:
            progress(f"{stages.FULLGRAPH} ({self.mode})")
            run = replace(run, fullgraph=self.fullgraph())
        update(run, not self.request.compare)
        run = compiled_otherwise.with_causes(self, run)
        if self.mode == "train" and self.request.deeper and self._wants_training():
            progress(stages.TRAINING)
            step_options = self.request.optimizer, self.request.compiled_autograd
            run = TrainingStep(self.target, self.backend, self.places, self.loss, *step_options).run(run)
        return run

    def _wants_training(self) -> bool:
        return bool(self.request.optimizer or self.request.compiled_autograd or self.target.optimizer)

    def eager(self) -> _Eager:
        """One eager run, in which lines and operators are counted."""
        try:
            return self._counted_if_possible()
        except RuntimeError as error:
            if "backward through the graph a second time" not in str(error):
                raise
        self.goes_backward = False
        if self.request.reference is not None and not self.request.compare:
            compare.save({"goes": False}, self.request.reference, f"{self.mode}-{GOES_BACKWARD}")
        return self._counted_if_possible()

    def _counted_if_possible(self) -> _Eager:
        if not self.request.compare:
            try:
                return self._eager(counted=True)
            except BaseException:  # operators that no dispatch mode handles; what the code itself raises comes again
                pass
        return self._eager(counted=False)

    def _eager(self, counted: bool) -> _Eager:
        sample = self.target.sample(self.mode)
        before = compare.snapshot(sample, None)
        total: compiled_share.Share | None = None

        def forward(*args: Any, **kwargs: Any) -> Any:
            nonlocal total
            with compiled_share.in_eager(sample.module) as total:
                return sample.function(*args, **kwargs)

        watch = executed_lines(self.request.watch)
        with force_eager(), self.budget.eager_run(), checkpoints_without_gradients() as lacking, watch as lines:
            after = self.call(sample, forward if counted else None)
        self._thinned = gradients.step_of(sample.module) if sample.gradients else 1
        if self.request.reference is not None and not self.request.compare:
            compare.save(after, self.request.reference, self.mode)
        self._expected = after
        return _Eager(before, after, self._shown(lines), total, bool(lacking))

    def _shown(self, lines: Mapping[str, set[int]]) -> dict[str, frozenset[int]]:
        return {self.places.show(path): frozenset(found) for path, found in lines.items()}

    def expected(self) -> compare.Snapshot:
        """What the eager run left behind, in this process or an earlier one. Raises what the user's code raises."""
        if self._expected is None and self.request.reference is not None:
            self._expected = compare.load(self.request.reference, self.mode)
        if self._expected is None:
            with force_eager():
                self._expected = self.call(self.target.sample(self.mode))
        return self._expected

    def compiled(
        self, run: DynamicRun, total: compiled_share.Share | None
    ) -> tuple[DynamicRun, compare.Snapshot | None]:
        """The default compile: breaks, graphs, operators; the snapshot is None if it raised.

        With ``total``, the operators are counted inside the graphs too, for the compiled share by submodule.
        """
        torch._dynamo.reset()
        forget_divergences()
        self.backend.clear()
        self._is_one_graph = False
        sample = self.target.sample(self.mode)
        function = self._compile(sample)
        snapshot: compare.Snapshot | None = None
        before = state.of(sample, self.modules())
        fault: Fault | None = None
        failure: RawEvent | None = None
        counting = self.backend.measure(sample.module) if total else nullcontext()
        tracing = traced_lines(self.request.traced)
        with record() as recording, self.budget.compiles(), tracing as traced, counting as inside:
            try:
                snapshot = self.call(sample, function)
            except BaseException as error:
                fault, failure = fault_of(error, self.places, "under torch.compile"), raised(error)
        if fault is not None and total is not None:
            # It may be the counting: there are operators that no dispatch mode handles.
            return self.compiled(run, None)
        events = [*recording.events, failure] if failure else recording.events
        found, sites = numbered(events, self.places, source_of)
        given_up = dropped_functions(events, self.places, source_of)
        run = replace(
            run,
            breaks=found,
            pieces=pieces(recording.order, self.backend.sizes, sites, given_up),
            graphs=self.backend.graphs,
            operators=self.backend.operators,
        )
        if traced:
            run = replace(run, executed=self._shown(traced), traced_only=True)
        if fault is not None:
            detail = self._detail(fault, lambda smaller: self.call(smaller, self._compile(smaller)))
            return fault.ended(run, detail), None
        run = replace(run, unwritten=self._unwritten(state.written(before, state.of(sample, self.modules())).leaves))
        is_one = not recording.events and len(recording.starts) == 1 == self.backend.graphs
        # Verifying a fix needs breaks and results only.
        if not self.request.compare:
            explain = crosscheck.explain(run.breaks, run.graphs, self.backend.reasons)
            run = replace(run, explain=explain, recompiles=recompiles_of_one_call(recording, self.places))
            if total and inside:
                total = compiled_share.in_one_graph(total, inside) if is_one else total
                run = self._shared(run, sample, recording, total, inside)
        run = with_later_calls(self, function, run)
        self._is_one_graph = is_one and not run.breaks
        return run, snapshot

    def _compile(self, sample: Sample) -> Callable[..., Any]:
        function: Callable[..., Any] = torch.compile(sample.function, backend=self.backend)
        return function

    def _detail(self, fault: Fault, call: Callable[[Sample], object]) -> str:
        """The text of ``fault``: where memory was short, also what fits."""
        if not fault.memory or self.request.compare:
            return fault.detail
        return f"{fault.detail}; {out_of_memory.advice(self.target, self.mode, call, self.request.shrink is not None)}"

    def _unwritten(self, written: compare.Snapshot) -> tuple[str, ...]:
        """What the original's compiled run wrote and this one, of which ``written`` holds the names, did not."""
        if self.request.reference is None:
            return ()
        if not self.request.compare:
            compare.save(dict.fromkeys(written, True), self.request.reference, f"{self.mode}-written")
            return ()
        original = compare.load(self.request.reference, f"{self.mode}-written") or {}
        return tuple(name for name in original if name not in written)

    def numerics(self, eager: _Eager, compiled: compare.Snapshot | None) -> Numerics:
        """Compiled against eager; with ``compare``, both against the eager outputs of the original source.

        Eager is run again only where something differs: it may differ from itself.
        """
        if compiled is None:
            return compare.not_compared("the compiled model raised")
        if not any(name.startswith("output") for name in compiled):
            return compare.not_compared("the output holds neither tensors nor numbers")
        unmatched = compare.gradients_beside(eager.after, compiled) if eager.lacks_gradients else set()
        compiled = {name: leaf for name, leaf in compiled.items() if name not in unmatched}
        against = self._against(eager, compiled)
        if not against:
            return compare.not_compared("there is no eager output of the original source")
        differs = any(difference.where for difference in against.values())
        noise = compare.Difference(0.0)
        if differs or any(difference.max_abs_diff for difference in against.values()):
            # Before a wider dtype is asked: of what differs each time it would say that eager is as far from it.
            noise = self._noise(eager, forward_alone=not differs)
        if noise.where:
            return compare.not_compared(_TWO_DIFFER.format(noise.where))
        if differs and _DIFFER in against and (cleared := self._cleared(eager.after, compiled)):
            return compare.verdict({_DIFFER: replace(against[_DIFFER], where=None)}, cleared)
        notes = [f"two eager runs differ by up to {noise.max_abs_diff:.3g}"] if noise.max_abs_diff else []
        if unmatched:
            notes.append(_NO_GRADIENTS)
        if self._thinned > 1:
            notes.append(f"of the gradients every {self._thinned}th number was compared")
        return compare.verdict(against, "; ".join(notes))

    def _against(self, eager: _Eager, compiled: compare.Snapshot) -> Mapping[str, compare.Difference]:
        """What the verdict compares; empty where the outputs of the original are missing."""
        if self.request.known or not (self.request.compare and self.request.reference):
            return {_DIFFER: compare.compare(eager.after, compiled)}
        original = compare.load(self.request.reference, self.mode)
        if original is None:
            return {}
        return {
            "compiled differs from the original": compare.compare(original, compiled),
            "eager differs from the original": compare.compare(original, eager.after),
        }

    def _noise(self, eager: _Eager, forward_alone: bool) -> compare.Difference:
        """By how much what another eager run leaves behind differs."""
        try:
            with force_eager():
                sample = self.target.sample(self.mode)
                if forward_alone:
                    again = compare.snapshot(sample, sample.function(*sample.args, **sample.kwargs))
                else:
                    again = self.call(sample)
        except BaseException:
            return compare.Difference(0.0, "another one raised")
        return compare.compare({name: leaf for name, leaf in eager.after.items() if name in again}, again)

    def modules(self) -> list[ModuleType]:
        """The imported modules of the user's own code."""
        files = [(module, getattr(module, "__file__", None) or "") for module in list(sys.modules.values())]
        # torch names made-up modules, torch.ops is one, after a file without its folder.
        return [module for module, file in files if os.path.isabs(file) and self.is_own(file)]

    def is_own(self, file: str) -> bool:
        """Whether ``file`` is the user's own code."""
        if (known := self._own.get(file)) is None:
            known = self._own[file] = not self.places.is_tool(file) and self.places.kind(file) == "own"
        return known

    def _cleared(self, eager: compare.Snapshot, compiled: compare.Snapshot) -> str:
        """Why the difference is no fault: both are as far from float64."""
        exact = reference.in_wider_dtype(self.target, self.mode, self.call)
        return reference.cleared(eager, compiled, exact) if exact else ""

    def fullgraph(self) -> FullGraph:
        """The verdict of ``fullgraph=True``."""
        further = (self.target.sample(self.mode) for _ in range(CALLS))
        return crosscheck.fullgraph(self.target.sample(self.mode), self.backend, self.places, further)

    def call(self, sample: Sample, function: Callable[..., Any] | None = None) -> compare.Snapshot:
        """Call ``sample``, or what it was compiled to, and give what that leaves behind."""
        outputs, loss = self.answer(sample, function)
        found = compare.snapshot(sample, outputs)
        return found if loss is None else {**found, "loss": loss.detach().clone()}

    def answer(
        self, sample: Sample, function: Callable[..., Any] | None = None, backward: bool = False
    ) -> tuple[Any, torch.Tensor | None]:
        """What calling ``sample``, or what it was compiled to, gives: outputs, and the loss that went backward."""
        # Not `function or ...`: a compiled module has no truth value of its own.
        outputs = (sample.function if function is None else function)(*sample.args, **sample.kwargs)
        wanted = self.goes_backward and (backward or self.mode == "train")
        loss = self.loss(outputs) if wanted else None
        if loss is not None:
            with gradients.thinned(sample):
                torch.autograd.backward(loss)
        return outputs, loss

    def loss(self, outputs: Any) -> torch.Tensor | None:
        """What goes backward; None where no output has a gradient."""
        return self.target.loss(outputs) if self.target.loss else default_loss(outputs)

    def _shared(
        self,
        run: DynamicRun,
        sample: Sample,
        recording: Recording,
        total: compiled_share.Share,
        inside: compiled_share.Share,
    ) -> DynamicRun:
        """``run`` with the share of the operators of an eager forward that ran inside graphs, by submodule."""
        # More inside than in all: the trace rewrote the operators, and the counts cannot be compared.
        if 0 < total.total >= inside.total:
            run = replace(run, compiled_share=inside.total / total.total)
        if sample.module is None:
            return run
        nodes = tree.tree(sample.module, total, inside, run.breaks, recording, self.places.show)
        return replace(run, modules=nodes, blocks=tree.blocks(sample.module, nodes, recording))


def force_eager() -> Any:
    """A context in which functions that the user compiled run uncompiled."""
    return torch.compiler.set_stance("force_eager")
