"""Eager runs on varied inputs, which show what a fix changes where the sample does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from graphdoctor.dynamic.numerics import comparison as compare
from graphdoctor.dynamic.numerics.perturbed_calls import Varying
from graphdoctor.dynamic.parent import stages
from graphdoctor.dynamic.tracing.branch_coverage import Seen
from graphdoctor.dynamic.user_code.target import Sample
from graphdoctor.dynamic.worker import threads
from graphdoctor.dynamic.worker.experiment import GOES_BACKWARD, Experiment, Progress, force_eager
from graphdoctor.dynamic.worker.modes import is_trained
from graphdoctor.model.runs import Varied


def varied(experiment: Experiment, seen: Seen, update: Callable[[Varied], None], progress: Progress) -> Varied:
    """Eager runs on varied inputs: recorded in the ``reference`` of the request, or compared with what was."""
    request, target, mode = experiment.request, experiment.target, experiment.mode
    assert request.reference is not None
    progress(f"{stages.VARY} ({mode})")
    threads.use_few(request.reference)
    # What is not run in train mode is run with gradients in the mode that it has.
    backward = mode == "train" or not is_trained(target.sample(mode).module)
    if request.compare:
        # As the original was run: a fix may make the layers with the module that the first call made.
        backward = (compare.load(request.reference, f"{mode}-backward") or {}).get("backward", backward)
    else:
        compare.save({"backward": backward}, request.reference, f"{mode}-backward")

    if compare.load(request.reference, f"{mode}-{GOES_BACKWARD}") is not None:
        experiment.goes_backward = backward = False

    def call(sample: Sample) -> tuple[Any, torch.Tensor | None]:
        return experiment.answer(sample, backward=backward)

    def forward(sample: Sample) -> tuple[Any, torch.Tensor | None]:
        return experiment.answer(sample, backward=False)

    modules = experiment.modules()
    own = experiment.is_own
    varying = Varying(target, mode, call, forward, request.reference, backward, modules, own, request.known)
    with force_eager():
        if request.repeat:
            return varying.repeat()
        return varying.check() if request.compare else varying.record(seen, update)
