"""The steps of a run that are asked for, or that only a failure calls for: what they cost is seconds, not a moment."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from graphdoctor.dynamic import device, diverge, inductor, ladder, numerics, readiness, reference, repro
from graphdoctor.dynamic.backend import CountingBackend
from graphdoctor.dynamic.load import source_of
from graphdoctor.dynamic.places import Places
from graphdoctor.dynamic.protocol import RunRequest
from graphdoctor.dynamic.target import Mode, Sample, Target
from graphdoctor.dynamic.training import Loss, TrainingStep
from graphdoctor.dynamic.userfault import fault_of
from graphdoctor.run_model import DynamicRun, Ladder, Readiness, Stage

Progress = Callable[[str], None]

#: Call operators and submodules up to which readiness is looked at without being asked for.
_FEW_OPERATORS, _FEW_MODULES = 300, 60


@dataclass(frozen=True)
class Deeper:
    """``run_sample`` calls a sample (or its compiled function) and gives what it leaves behind."""

    target: Target
    mode: Mode
    request: RunRequest
    places: Places
    backend: CountingBackend
    run_sample: Callable[[Sample, Callable[..., Any] | None], numerics.Snapshot]
    loss: Loss

    def run(self, run: DynamicRun, eager: numerics.Snapshot, progress: Progress) -> DynamicRun:
        """``run`` with what the request asks for beside the breaks. Exceptions end as a line of detail."""
        if self._wants_readiness(run):
            progress(f"compiling submodules alone ({self.mode})")
            run = self._readiness(run)
        if run.numerics is not None and run.numerics.equal is False:
            progress(f"looking for the submodule that differs ({self.mode})")
            run = replace(run, numerics=replace(run.numerics, diverges=self._diverges(self.backend)))
        with device.listen() as heard:
            if self.request.ladder or (self.request.ladder is None and run.outcome != "ok"):
                progress(f"trying the backends one by one ({self.mode})")
                run = replace(run, ladder=self._ladder(eager, "inductor" if self.request.ladder else "eager"))
        if self.mode == "train" and self._wants_training():
            progress("running a training step")
            asked = self.request.optimizer, self.request.compiled_autograd
            run = TrainingStep(self.target, self.backend, self.places, self.loss, *asked).run(run)
        if run.outcome == "ok":
            ran_inductor = run.ladder is not None and any(s.name == "inductor" for s in run.ladder.stages)
            checks = device.check(
                self.target.device, self._eager, self._compiled, self.places, heard if ran_inductor else None
            )
            run = replace(run, device_checks=checks)
        return run

    def _wants_training(self) -> bool:
        return bool(self.request.optimizer or self.request.compiled_autograd or self.target.optimizer)

    def _wants_readiness(self, run: DynamicRun) -> bool:
        if self.request.readiness is not None or not run.modules:
            return bool(self.request.readiness and run.modules)
        small = run.operators <= _FEW_OPERATORS and len(run.modules) <= _FEW_MODULES
        once = self.mode == ("train" if self.request.mode == "train" else "eval")
        return run.fullgraph.passes is False and small and once

    def _readiness(self, run: DynamicRun) -> DynamicRun:
        try:
            run = replace(run, readiness=readiness.check(self.target, self.mode, run, self.backend, self.places))
            if self.request.readiness:
                run = replace(run, blocks=readiness.each_alone(self.target, self.mode, run.blocks, self.backend))
        except BaseException as error:
            detail = fault_of(error, self.places, "while submodules were run alone").detail
            run = replace(run, readiness=run.readiness or Readiness((), (), 0, detail))
        torch._dynamo.reset()
        return run

    def _diverges(self, backend: Callable[..., Any]) -> str | None:
        try:
            return diverge.first(self.target, self.mode, backend)
        except BaseException:  # the model ran a moment ago, so this is about running its parts
            return None

    def _ladder(self, eager: numerics.Snapshot, top: str) -> Ladder:
        def same(outputs: numerics.Snapshot) -> str:
            difference = numerics.compare(eager, outputs)
            if difference.where is None:
                return ""
            exact = reference.in_double(self.target, self.mode, lambda sample: self.run_sample(sample, None))
            return "" if exact and reference.cleared(eager, outputs, exact) else difference.where

        fall = ladder.climb(self.target, self.mode, self.run_sample, self.places, same, top)
        last = fall.stages[-1]
        if fall.kept is None:
            return Ladder(fall.stages)
        if last.outcome == "differs" and (name := self._diverges(fall.kept)):
            last = replace(last, detail=f"{last.detail}; the first submodule that differs is {name}")
        text = self._script(last, fall.kept) if self.request.repro else None
        return Ladder((*fall.stages[:-1], last), text)

    def _script(self, last: Stage, kept: inductor.Kept) -> str | None:
        text = source_of(os.path.realpath(self.request.file))
        return repro.script(last, kept, text, self.mode == "train")

    def _eager(self) -> None:
        with torch.compiler.set_stance("force_eager"):
            sample = self.target.sample(self.mode)
            sample.function(*sample.args, **sample.kwargs)

    def _compiled(self) -> None:
        torch._dynamo.reset()
        sample = self.target.sample(self.mode)
        torch.compile(sample.function, backend=self.backend)(*sample.args, **sample.kwargs)
