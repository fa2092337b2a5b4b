"""Breaks whose cause the code does not show: each mode is compiled once more without the possible cause.

An argument that is a numpy scalar is a tensor to Dynamo, and a run in eval mode has its gradients on, while inference
usually runs under ``torch.no_grad()``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Set
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from graphdoctor.breaks.grouping import distinct, place
from graphdoctor.breaks.locations import code_at
from graphdoctor.dynamic.recompiles.arguments import changed
from graphdoctor.dynamic.tracing.capture import record
from graphdoctor.dynamic.tracing.private_torch import forget_divergences
from graphdoctor.dynamic.user_code.load import source_of
from graphdoctor.dynamic.user_code.target import Sample
from graphdoctor.dynamic.worker.numpy_scalars import scalars
from graphdoctor.model.runs import Break, DynamicRun

if TYPE_CHECKING:
    from graphdoctor.dynamic.worker.experiment import Experiment

#: The part of the time limit that one further compilation may take.
_SHARE = 0.2
#: Words of code that takes another path, or breaks, with gradients on. A ``backward`` is traced only then.
_ON_GRADIENTS = re.compile(
    r"requires_grad|grad_enabled|autograd|checkpoint|\bno_grad|inference_mode|\.grad(_fn)?\b|\bdef backward\b"
)

_Place = tuple[str, int, str | None]


def with_causes(experiment: Experiment, run: DynamicRun) -> DynamicRun:
    """``run``, where breaks that numpy scalars cause, or gradients in eval mode, are marked."""
    # For fixed code only the remaining breaks matter.
    if experiment.request.compare or not run.breaks:
        return run
    return _of_gradients(experiment, _of_numpy(experiment, run))


def _of_numpy(experiment: Experiment, run: DynamicRun) -> DynamicRun:
    sample = experiment.target.sample(experiment.mode)
    numbers = scalars(sample.function, (sample.args, sample.kwargs))
    if not numbers:
        return run
    arguments = sample.args, sample.kwargs
    sample.args, sample.kwargs = changed(sample.function, arguments, lambda name, value: numbers.get(name, value))
    left = _left(experiment, sample, nullcontext())
    calls = tuple(f"{type(number).__name__}({name})" for name, number in numbers.items())
    return replace(run, breaks=tuple(b if _comes(b, left) else replace(b, as_numbers=calls) for b in run.breaks))


def _of_gradients(experiment: Experiment, run: DynamicRun) -> DynamicRun:
    if experiment.mode != "eval" or not any(_asks_for_gradients(entry, experiment) for entry in run.breaks):
        return run
    left = _left(experiment, experiment.target.sample(experiment.mode), torch.no_grad())
    return replace(run, breaks=tuple(b if _comes(b, left) else replace(b, with_gradients=True) for b in run.breaks))


def _asks_for_gradients(entry: Break, experiment: Experiment) -> bool:
    """Whether a function on the way to ``entry`` has a word about them."""
    files = ((os.path.join(experiment.places.root, frame.path), frame.line) for frame in entry.stack)
    return any(_ON_GRADIENTS.search(code_at(source_of(path), line)) for path, line in files)


def _left(experiment: Experiment, sample: Sample, around: AbstractContextManager[object]) -> Set[_Place] | None:
    """Where ``sample`` breaks when it is compiled ``around``; None where it raises, or there is no time."""
    budget = experiment.budget
    if budget.refusal(budget.estimate(eager=1, compiles=1), _SHARE):
        return None
    torch._dynamo.reset()
    forget_divergences()
    try:
        with record() as recording, around:
            experiment.call(sample, torch.compile(sample.function, backend=experiment.backend))
    except BaseException:
        return None
    return {place(entry) for entry in distinct(recording.events, experiment.places, source_of)}


def _comes(entry: Break, left: Set[_Place] | None) -> bool:
    """Whether ``entry`` is among the breaks that are ``left``, or nothing is known of it: only one call was made."""
    return left is None or entry.call > 1 or place(entry) in left
