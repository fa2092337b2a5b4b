"""Lines that only the first call of a process runs: they fill what is there later, such as a table of a class.

The eager run is the first call, so Dynamo never meets these lines, and says nothing of what is predicted there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch

from graphdoctor.dynamic.tracing.line_coverage import executed_lines

if TYPE_CHECKING:
    from graphdoctor.dynamic.worker.experiment import Experiment

#: Seconds of an eager run that is made twice.
_SHORT = 2.0


def lines(experiment: Experiment, first: Mapping[str, frozenset[int]]) -> Mapping[str, frozenset[int]]:
    """``first``, the lines of an eager run, without those that a second run does not reach.

    It is made where a break is predicted on one of the lines, and where a run does not take long.
    """
    request = experiment.request
    asked = any(not first.get(path, frozenset()).isdisjoint(found) for path, found in request.predicted.items())
    if request.compare or not asked or experiment.budget.eager > _SHORT:
        return first
    try:
        with torch.compiler.set_stance("force_eager"), executed_lines(request.watch) as later:
            experiment.call(experiment.target.sample(experiment.mode))
    except BaseException:  # what a process can do once only: the first run ended well
        return first
    again = {experiment.places.show(path): numbers for path, numbers in later.items()}
    return {path: numbers & again.get(path, frozenset()) for path, numbers in first.items()}
