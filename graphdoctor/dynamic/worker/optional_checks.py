"""The steps after the verdict: recompiles, and checks after a failure or on request, within the time limit."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch

from graphdoctor.dynamic.layers import audit, audit_repro, export, inductor, ladder, repro
from graphdoctor.dynamic.modules import diverge, readiness
from graphdoctor.dynamic.numerics import comparison, reference
from graphdoctor.dynamic.parent import stages
from graphdoctor.dynamic.parent.vary_specs import parse_variations
from graphdoctor.dynamic.recompiles import sweep
from graphdoctor.dynamic.recompiles.recompile import Probe
from graphdoctor.dynamic.tracing import device
from graphdoctor.dynamic.tracing.torch_messages import listen
from graphdoctor.dynamic.user_code.load import source_of
from graphdoctor.dynamic.user_code.target import Sample
from graphdoctor.dynamic.user_code.user_errors import fault_of
from graphdoctor.dynamic.worker.experiment import Experiment
from graphdoctor.model.audit import Audit
from graphdoctor.model.runs import DynamicRun, Ladder, Stage, Sweep
from graphdoctor.model.submodules import Readiness

Progress = Callable[[str], None]
Update = Callable[[DynamicRun], None]

#: Call operators and submodules up to which readiness is looked at without a request.
_FEW_OPERATORS, _FEW_MODULES = 300, 60
#: From so many later calls on that are compiled again, the cause is more than state that is set once.
_MANY = 2


@dataclass(frozen=True)
class Deeper:
    """``experiment`` gave the run that is completed. ``update`` gets the run after each step."""

    experiment: Experiment
    update: Update
    progress: Progress

    def run(self, run: DynamicRun) -> DynamicRun:
        """``run`` with the checks of the request that come after the verdict. Exceptions end as a line of detail."""
        request = self.experiment.request
        # What the steps take was measured in this process, or in the one before.
        self.experiment.budget.know(*run.cost)
        if request.recompiles and run.outcome == "ok":
            run = self._recompiles(run)
        if request.audit and run.outcome in ("ok", "raised"):
            run = self._step(run, stages.AUDIT, self._audited, requested=True)
        if not request.deeper or run.numerics is None:
            return run
        if self._wants_readiness(run):
            run = self._step(run, stages.READINESS, self._readiness, compiles=1, requested=bool(request.readiness))
        if run.numerics is not None and run.numerics.equal is False:
            run = self._step(run, stages.DIVERGES, self._found_where, compiles=1)
        with listen(device.LOGGERS) as messages:
            if request.ladder or (request.ladder is None and run.outcome in ("raised", "exited")):
                run = self._step(run, stages.LADDER, self._climbed, compiles=1, requested=bool(request.ladder))
        if run.outcome == "ok":
            ran_inductor = run.ladder is not None and any(s.name == "inductor" for s in run.ladder.stages)
            on_cpu = self.experiment.target.device.type == "cpu"
            run = self._step(
                run,
                stages.DEVICE,
                lambda r: self._checked(r, messages, ran_inductor),
                eager=0 if on_cpu else 2,
                compiles=2 if ran_inductor and not on_cpu else 0,
            )
        return run

    def _step(
        self,
        run: DynamicRun,
        stage: str,
        work: Callable[[DynamicRun], DynamicRun],
        eager: float = 0,
        compiles: float = 0,
        requested: bool = False,
    ) -> DynamicRun:
        """``run`` after ``work``, which takes this many eager runs and compiles. Work that was not requested must fit
        into the time that is left.
        """
        budget, what = self.experiment.budget, f"{stage} ({self.experiment.mode})"
        if not (requested or self.experiment.request.deep) and (
            why := budget.refusal(budget.estimate(eager, compiles), stages.SHARES[stage])
        ):
            run = replace(run, left_out=(*run.left_out, f"{what}: left out, {why}"))
        else:
            if eager or compiles or requested:
                self.progress(what)
            run = work(run)
        self.update(run)
        return run

    # Export

    def exported(self, run: DynamicRun) -> DynamicRun:
        """``run`` with what torch.export makes of the model; as it is where eager failed."""
        if run.numerics is None:
            return run
        # Twice, and decomposed on the way.
        return self._step(run, stages.EXPORT, self._exports, eager=2, compiles=4)

    def _exports(self, run: DynamicRun) -> DynamicRun:
        of = self.experiment
        for made in export.export(of.target, of.mode, of.places, of.expected()):
            run = replace(run, export=(*run.export, made))
            self.update(run)
        return run

    # Recompiles

    def _recompiles(self, run: DynamicRun) -> DynamicRun:
        """The variants and those of ``--vary``, called in order; where there is neither, an automatic sweep."""
        target, mode, request = self.experiment.target, self.experiment.mode, self.experiment.request
        plans = [*sweep.variants(target), *sweep.requested(target, mode, parse_variations(request.vary))]
        if plans:
            return self._step(run, stages.RECOMPILES, lambda r: self._probed(r, plans), requested=True)
        if run.outcome != "ok" or not run.operators:
            return run
        # One mode is enough for what was not requested, unless later calls of another are compiled again and again.
        if not self.experiment.is_main and run.compiled_again < _MANY:
            return run
        if not self.experiment.is_main:
            plans = [sweep.repeated(target, mode)]
            return self._step(run, stages.RECOMPILES, lambda r: self._probed(r, plans), eager=4, compiles=3)
        # A compile with sizes that vary takes as long as two without.
        return self._step(run, stages.RECOMPILES, self._swept, eager=4, compiles=3 if self._is_brief(run) else 4)

    def _is_brief(self, run: DynamicRun) -> bool:
        """Whether the sizes of a large model vary together, which takes the fewest compiles."""
        return run.operators > _FEW_OPERATORS and not self.experiment.request.deep

    def _swept(self, run: DynamicRun) -> DynamicRun:
        target, mode = self.experiment.target, self.experiment.mode
        try:
            if self._is_brief(run) and (plan := sweep.together(target, mode)):
                looked = self._probed(run, [plan])
                if not looked.recompiles and looked.sweeps[-1].calls:
                    return looked
                self.update(run)
            # Of a small model, or of one that fails: one step after the other.
            plans = sweep.automatic(target, mode)
        except BaseException:  # the sample ran a moment ago, so this is about what the sweep made of it
            return run
        return self._probed(run, plans)

    def _probed(self, run: DynamicRun, plans: Sequence[sweep.Plan]) -> DynamicRun:
        of = self.experiment
        until = of.budget.until(stages.SHARES[stages.RECOMPILES])
        probe = Probe(of.target, of.mode, of.backend, of.places, until, (*run.breaks, *run.varied_breaks))
        for plan in plans:
            if plan.automatic and time.monotonic() > until:
                line = f"{stages.RECOMPILES} ({of.mode}), {plan.varied}: left out, the time for it was up"
                return replace(run, left_out=(*run.left_out, line))
            try:
                made, found = probe.probe(plan)
            except BaseException as error:
                detail = fault_of(error, of.places, "in a variant").detail
                if not plan.automatic:
                    return replace(run, detail=detail)
                made, found = Sweep(plan.varied, True, 0, 0, f"stopped: {detail}"), ()
            run = replace(run, sweeps=(*run.sweeps, made), recompiles=(*run.recompiles, *found))
            self.update(run)
        return run

    # Parts and layers

    def _wants_readiness(self, run: DynamicRun) -> bool:
        request = self.experiment.request
        if request.readiness is not None or not run.modules:
            return bool(request.readiness and run.modules)
        small = run.operators <= _FEW_OPERATORS and len(run.modules) <= _FEW_MODULES
        return run.fullgraph.passes is False and small and self.experiment.is_main

    def _readiness(self, run: DynamicRun) -> DynamicRun:
        of = self.experiment
        try:
            run = replace(run, readiness=readiness.check(of.target, of.mode, run, of.backend, of.places))
            if of.request.readiness:
                run = replace(run, blocks=readiness.each_alone(of.target, of.mode, run.blocks, of.backend))
        except BaseException as error:
            detail = fault_of(error, of.places, "while submodules were run alone").detail
            run = replace(run, readiness=run.readiness or Readiness((), (), 0, detail))
        torch._dynamo.reset()
        return run

    def _found_where(self, run: DynamicRun) -> DynamicRun:
        assert run.numerics is not None
        return replace(run, numerics=replace(run.numerics, diverges=self._diverges(self.experiment.backend)))

    def _diverges(self, backend: Callable[..., object]) -> str | None:
        try:
            return diverge.first(self.experiment.target, self.experiment.mode, backend)
        except BaseException:  # the model ran a moment ago, so this is about running its parts
            return None

    def _climbed(self, run: DynamicRun) -> DynamicRun:
        return replace(run, ladder=self._ladder("inductor" if self.experiment.request.ladder else "eager"))

    def _ladder(self, top: str) -> Ladder:
        of = self.experiment
        eager = of.expected()

        def same(outputs: comparison.Snapshot) -> str:
            difference = comparison.compare(eager, outputs)
            if difference.where is None:
                return ""
            exact = reference.in_wider_dtype(of.target, of.mode, of.call)
            return "" if exact and reference.cleared(eager, outputs, exact) else difference.where

        fall = ladder.climb(of.target, of.mode, of.call, of.places, same, top)
        last = fall.stages[-1]
        if fall.kept is None:
            return Ladder(fall.stages)
        if last.outcome == "differs" and (name := self._diverges(fall.kept)):
            last = replace(last, detail=f"{last.detail}; the first submodule that differs is {name}")
        text = self._script(last, fall.kept) if of.request.repro else None
        return Ladder((*fall.stages[:-1], last), text)

    def _audited(self, run: DynamicRun) -> DynamicRun:
        of = self.experiment
        kept: list[inductor.Kept] = []

        def made(name: str) -> inductor.Kept:
            kept.append(inductor.Kept(name))
            return kept[-1]

        try:
            found = audit.audit(of.target, of.mode, of.answer, of.modules(), made=made)
        except BaseException as error:
            return replace(run, audit=Audit((), detail=fault_of(error, of.places, "while it was audited").detail))
        last = found.backends[-1]
        if any(deviation.oracle == "outputs" for deviation in last.deviations):
            found = replace(found, submodule=self._diverges(inductor.Kept(last.name)))
        if of.request.repro and last.outcome == "differs":
            text = source_of(os.path.realpath(of.request.file))
            found = audit_repro.reproduced(found, kept[-1], text, of.mode == "train")
        torch._dynamo.reset()
        return replace(run, audit=found)

    def _script(self, last: Stage, kept: inductor.Kept) -> str | None:
        text = source_of(os.path.realpath(self.experiment.request.file))
        return repro.script(last, kept, text, self.experiment.mode == "train")

    # The device

    def _checked(self, run: DynamicRun, messages: Sequence[str], ran_inductor: bool) -> DynamicRun:
        of = self.experiment
        compiled = self._inductor if ran_inductor else None
        return replace(run, device_checks=device.check(of.target.device, self._eager, compiled, of.places, messages))

    def _eager(self) -> Callable[[], None]:
        with torch.compiler.set_stance("force_eager"):
            sample = self.experiment.target.sample(self.experiment.mode)
        return lambda: self._forward(sample, sample.function, torch.compiler.set_stance("force_eager"))

    def _inductor(self) -> Callable[[], None]:
        torch._dynamo.reset()
        sample = self.experiment.target.sample(self.experiment.mode)
        compiled = torch.compile(sample.function, backend=inductor.Kept("inductor"))
        return lambda: self._forward(sample, compiled, inductor.settings())

    def _forward(self, sample: Sample, function: Callable[..., object], around: AbstractContextManager[Any]) -> None:
        with around, torch.no_grad() if self.experiment.mode == "eval" else nullcontext():
            self.experiment.answer(sample, function)
