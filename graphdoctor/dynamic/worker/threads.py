"""How many threads of torch the eager runs on varied inputs take: one, where more of them only wait for each other.

The operators of a small model are done before a second thread has begun, and on a machine that has other work it begins
late: a backward pass of vits, at a small size on two busy cores, took ten times as long with two threads as with one.
All runs that are compared take the same number, since sums depend on it in the last bit.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from graphdoctor.dynamic.numerics import comparison
from graphdoctor.dynamic.user_code.time_limit import at_most

if TYPE_CHECKING:
    from graphdoctor.dynamic.worker.experiment import Experiment

#: Seconds of an eager run that is made twice more to find out.
_SHORT = 2.0
#: What one of these may take, in place of such a run: varied runs go backward, too.
_LIMIT = 5.0

_NAME = "threads"


def choose(experiment: Experiment, folder: Path) -> None:
    """Time the target with all threads and with one, and write to ``folder`` where one is as quick."""
    every = torch.get_num_threads()
    if every == 1 or experiment.target.device.type != "cpu" or experiment.budget.eager > _SHORT:
        return
    try:
        limit = _seconds(experiment, _LIMIT)
        torch.set_num_threads(1)
        if _seconds(experiment, limit) > limit:
            return
    except BaseException:  # it took too long, or this is code that cannot be called again
        return
    finally:
        torch.set_num_threads(every)
    comparison.save({"all": every}, folder, _NAME)


def use_few(folder: Path) -> None:
    """Take one thread from now on where ``choose`` found that it suffices, and the code has not set a number itself."""
    found = comparison.load(folder, _NAME) or {}
    if found.get("all") == torch.get_num_threads():
        torch.set_num_threads(1)


def _seconds(experiment: Experiment, limit: float) -> float:
    """What an eager run with its backward pass takes. Raises TooLong."""
    sample = experiment.target.sample(experiment.mode)
    start = time.monotonic()
    with torch.compiler.set_stance("force_eager"), at_most(limit):
        experiment.answer(sample, backward=True)
    return time.monotonic() - start
