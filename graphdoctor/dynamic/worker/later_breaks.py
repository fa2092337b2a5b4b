"""Graph breaks and compilations of later calls: what the first one leaves behind sends them another way.

After it has filled a cache or set a counter or a flag, the same inputs run through other lines, as in real programs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from graphdoctor.breaks.grouping import of_calls
from graphdoctor.dynamic.tracing.capture import record
from graphdoctor.dynamic.user_code.load import source_of
from graphdoctor.model.runs import DynamicRun

if TYPE_CHECKING:
    from graphdoctor.dynamic.worker.experiment import Experiment

#: Calls after the first, as long as each compiles something.
CALLS = 3
#: The part of the time limit that one further compilation may take.
_SHARE = 0.2


def with_later_calls(experiment: Experiment, function: Callable[..., Any], run: DynamicRun) -> DynamicRun:
    """``run`` with the breaks of further calls of ``function``, which was compiled and called once, and their number.

    A call that raises ends them: not all code can be called twice.
    """
    budget = experiment.budget
    for number in range(2, 2 + CALLS):
        if budget.refusal(budget.estimate(eager=1, compiles=1), _SHARE):
            break
        try:
            sample = experiment.target.sample(experiment.mode)
            with record() as recording:
                function(*sample.args, **sample.kwargs)
        except BaseException:
            break
        if not recording.starts:
            break
        later = of_calls([recording.events], experiment.places, source_of, run.breaks, number)
        run = replace(run, breaks=(*run.breaks, *later), compiled_again=number - 1)
    return run
