"""Each placement run and counted, with a backend that compiles nothing. Runs in the worker."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from graphdoctor.bench.place import compile_in_place
from graphdoctor.bench.steps import Stepper, stepper
from graphdoctor.breaks.grouping import distinct
from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.modules import tree
from graphdoctor.dynamic.tracing import compiled_share
from graphdoctor.dynamic.tracing.backend import CountingBackend
from graphdoctor.dynamic.tracing.capture import record
from graphdoctor.dynamic.user_code.load import source_of
from graphdoctor.dynamic.user_code.target import Target
from graphdoctor.dynamic.user_code.user_errors import fault_of
from graphdoctor.dynamic.worker.experiment import force_eager
from graphdoctor.model.advice import Placement
from graphdoctor.model.benchmark import Mode

#: What is set on a model before it is compiled, by the line that the user writes.
SETTINGS: dict[str, Callable[[Any], None]] = {
    "model.config.use_cache = False": lambda model: setattr(model.config, "use_cache", False),
}


@dataclass
class Counter:
    """Counts placements in one target and mode."""

    target: Target
    mode: Mode
    places: Places

    def __post_init__(self) -> None:
        self.backend = CountingBackend()
        self.calls = len(self._fresh().calls)
        self._operators = self._total()

    def count(self, placement: Placement) -> Placement:
        """``placement`` with what a run of all calls counted; what the user's code raises ends as ``failure``."""
        torch._dynamo.reset()
        self.backend.clear()
        start = time.perf_counter()
        with record() as recording:
            try:
                made = self._placed(placement)
                made.step(*made.calls[0])
                first = self.backend.graphs
                for call in made.calls[1:]:
                    made.step(*call)
            except BaseException as error:
                return replace(placement, failure=fault_of(error, self.places, "under torch.compile").detail)
        seconds = time.perf_counter() - start
        return replace(
            placement,
            compilations=self.backend.graphs,
            later=self.backend.graphs - first,
            breaks=len(distinct(recording.events, self.places, source_of)),
            at_limit=bool(tree.abandoned(recording)),
            share=None if placement.kind in ("loss", "optimizer") else self._share(made),
            seconds=seconds,
        )

    def _fresh(self) -> Stepper:
        return stepper(self.target, self.mode, "eager", None)

    def _placed(self, placement: Placement) -> Stepper:
        made = self._fresh()
        module = made.sample.module
        made.eager = False
        if placement.setting:
            SETTINGS[placement.setting](module)
        if placement.kind == "model":
            made.function = torch.compile(made.function, backend=self.backend)
        elif placement.kind == "loss":
            assert made.loss is not None
            made.loss = torch.compile(made.loss, backend=self.backend)
        elif placement.kind == "optimizer":
            assert made.optimizer is not None
            made.optimizer.step = torch.compile(made.optimizer.step, backend=self.backend)  # type: ignore[method-assign, assignment]
        for name in placement.names:
            assert isinstance(module, nn.Module)
            compile_in_place(module.get_submodule(name), backend=self.backend)
        return made

    def _total(self) -> int:
        made = self._fresh()
        args, kwargs = made.calls[0]
        with force_eager(), made.gradients(), compiled_share.in_eager(made.sample.module) as total:
            made.function(*args, **kwargs)
        return total.total

    def _share(self, made: Stepper) -> float | None:
        """None where the trace rewrote the operators, so that they cannot be compared."""
        args, kwargs = made.calls[0]
        with made.gradients(), self.backend.measure(made.sample.module) as inside:
            made.function(*args, **kwargs)
        return inside.total / self._operators if 0 < self._operators >= inside.total else None
