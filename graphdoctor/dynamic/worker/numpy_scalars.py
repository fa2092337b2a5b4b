"""Arguments that are numpy scalars, such as ``max(lengths)`` of an array: Dynamo makes tensors of them.

Code that asks their value breaks the graph, and the source does not show why: the cause is what the caller passes. So
what is compiled with Python numbers in their place tells which breaks come of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from graphdoctor.breaks.grouping import distinct
from graphdoctor.dynamic.recompiles.arguments import Arguments, changed, named
from graphdoctor.dynamic.tracing.capture import record
from graphdoctor.dynamic.tracing.private_torch import forget_divergences
from graphdoctor.dynamic.user_code import pytree
from graphdoctor.dynamic.user_code.load import source_of
from graphdoctor.model.runs import Break, DynamicRun

if TYPE_CHECKING:
    from graphdoctor.dynamic.worker.experiment import Experiment

#: The part of the time limit that the compilation may take.
_SHARE = 0.2


def with_causes(experiment: Experiment, run: DynamicRun) -> DynamicRun:
    """``run`` with those breaks marked that do not come where Python numbers are passed for numpy scalars."""
    budget, compare = experiment.budget, experiment.request.compare
    # Of fixed code, only what is left of the breaks is asked.
    if compare or not run.breaks or budget.refusal(budget.estimate(eager=1, compiles=1), _SHARE):
        return run
    sample = experiment.target.sample(experiment.mode)
    numbers = dict(scalars(sample.function, (sample.args, sample.kwargs)))
    if not numbers:
        return run
    torch._dynamo.reset()
    forget_divergences()
    try:
        sample.args, sample.kwargs = changed(
            sample.function, (sample.args, sample.kwargs), lambda name, value: numbers.get(name, value)
        )
        with record() as recording:
            experiment.call(sample, torch.compile(sample.function, backend=experiment.backend))
    except BaseException:  # code that takes no Python number there
        return run
    left = {_place(entry) for entry in distinct(recording.events, experiment.places, source_of)}
    calls = tuple(f"{type(number).__name__}({name})" for name, number in numbers.items())
    marked = (
        replace(entry, as_numbers=calls) if entry.call == 1 and _place(entry) not in left else entry
        for entry in run.breaks
    )
    return replace(run, breaks=tuple(marked))


def scalars(function: Callable[..., Any], arguments: Arguments) -> Iterator[tuple[str, bool | int | float | complex]]:
    """The numpy scalars in the arguments as Python numbers, by name."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return
    for name, value in named(function, arguments).items():
        for leaf, part in pytree.leaves(value, name).items():
            # A float64 is a Python float too, so it is kept as it is.
            if isinstance(part, numpy.generic) or (leaf.endswith(pytree.OF_NUMPY) and not part.dim()):
                yield leaf.removesuffix(pytree.OF_NUMPY), part.item()


def _place(entry: Break) -> tuple[str, int, str | None]:
    return entry.path, entry.line, entry.gb_id or entry.gb_type
