"""One training step under the compiler: forward, backward, optimizer step, and the graph breaks of each."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from graphdoctor.breaks.grouping import RawEvent, distinct
from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.numerics import comparison
from graphdoctor.dynamic.tracing.backend import CountingBackend
from graphdoctor.dynamic.tracing.capture import raised, record
from graphdoctor.dynamic.tracing.private_torch import NoCompiledAutograd, compiled_autograd
from graphdoctor.dynamic.user_code.load import source_of
from graphdoctor.dynamic.user_code.target import Sample, Target
from graphdoctor.dynamic.user_code.user_errors import fault_of
from graphdoctor.model.runs import Break, DynamicRun, Phase, Training

Loss = Callable[[Any], torch.Tensor | None]

OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.01),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.01),
}


class TrainingStep:
    """Runs one step, first in eager, then compiled."""

    def __init__(
        self, target: Target, backend: CountingBackend, places: Places, loss: Loss, name: str | None, autograd: bool
    ) -> None:
        self._target = target
        self._backend = backend
        self._places = places
        self._loss = loss
        self._name = name
        self._autograd = autograd
        self._graphs: dict[str, int] = {}
        self._events: dict[Phase, list[RawEvent]] = {}

    def run(self, run: DynamicRun) -> DynamicRun:
        """``run`` with the breaks of backward and step, and what the step did. Exceptions end as its outcome."""
        name = self._name or ("graphdoctor_optimizer()" if self._target.optimizer else None)
        blank = Training(name, self._autograd, {})
        try:
            with torch.compiler.set_stance("force_eager"):
                expected = self._step(compiled=False)
        except BaseException as error:
            fault = fault_of(error, self._places, "in an eager training step")
            return replace(run, training=replace(blank, outcome=fault.outcome, detail=fault.detail))
        torch._dynamo.reset()
        try:
            compared = comparison.compare(expected, self._step(compiled=True))
            result = replace(blank, numerics=comparison.verdict({"compiled and eager differ": compared}))
        except NoCompiledAutograd as error:
            result = replace(blank, outcome="raised", detail=str(error))
        except BaseException as error:
            fault = fault_of(error, self._places, "in a compiled training step")
            result = replace(blank, outcome=fault.outcome, detail=fault.detail)
        torch._dynamo.reset()
        found, deliberate = self._breaks()
        if deliberate and not result.detail:
            result = replace(result, detail="torch.optim breaks on purpose, which is not counted")
        return replace(run, breaks=(*run.breaks, *found), training=replace(result, graphs=self._graphs))

    def _step(self, compiled: bool) -> comparison.Snapshot:
        sample = self._target.sample("train", own=True)
        module = sample.module
        optimizer = self._optimizer(module)
        function = torch.compile(sample.function, backend=self._backend) if compiled else sample.function
        with self._phase("forward", compiled):
            outputs = function(*sample.args, **sample.kwargs)
        loss = self._loss(outputs)
        if loss is None:
            raise ValueError("no output has a gradient: define graphdoctor_loss(outputs)")
        traced = compiled_autograd(self._backend) if compiled and self._autograd else contextlib.nullcontext()
        with self._phase("backward", compiled), traced:
            torch.autograd.backward(loss)
        if optimizer is not None:
            step: Callable[[], Any] = optimizer.step
            with self._phase("step", compiled):
                (torch.compile(step, backend=self._backend) if compiled else step)()
        return _left_behind(sample, outputs)

    def _optimizer(self, module: nn.Module | None) -> torch.optim.Optimizer | None:
        if module is None or not any(p.requires_grad for p in module.parameters()):
            return None
        if self._name is not None:
            return OPTIMIZERS[self._name](module.parameters())
        return self._target.optimizer(module) if self._target.optimizer else None

    @contextlib.contextmanager
    def _phase(self, phase: Phase, compiled: bool) -> Iterator[None]:
        if not compiled:
            yield
            return
        before = self._backend.graphs
        with record() as recording:
            try:
                yield
            except BaseException as error:
                failure = raised(error)
                recording.events.extend([failure] if failure else [])
                raise
            finally:
                self._graphs[phase] = self._backend.graphs - before
                self._events[phase] = recording.events

    def _breaks(self) -> tuple[Sequence[Break], bool]:
        """The breaks of backward and step (those of forward are known), and whether torch makes some on purpose."""
        found: list[Break] = []
        for phase in ("backward", "step"):
            events = self._events.get(phase, [])
            found += [replace(b, phase=phase) for b in distinct(events, self._places, source_of)]
        return [b for b in found if b.owner != "torch"], any(b.owner == "torch" for b in found)


def _left_behind(sample: Sample, outputs: Any) -> comparison.Snapshot:
    found = comparison.snapshot(sample, outputs)
    if sample.module is not None:
        found |= {f"parameter {name}": p.detach().clone() for name, p in sample.module.named_parameters()}
    return found
