"""Example inputs -> what Dynamo does with the code: first what the verdict needs, then what comes after it."""

from __future__ import annotations

import platform
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from graphdoctor.scan.options import UsageError
from graphdoctor.scan.run_plan import RunPlan, run_request
from graphdoctor.target_torch.installed import torch_available

if TYPE_CHECKING:
    from graphdoctor.dynamic.parent import runner
    from graphdoctor.model.advice import Advice
    from graphdoctor.model.runs import DynamicRun
    from graphdoctor.scan.session import ExternalRuns, Session
    from graphdoctor.scan.steps.analyse import Analysed


#: The note where Ctrl-C ended what comes after the verdict.
_CUT = "interrupted after the verdict: recompiles were not counted"


@dataclass(frozen=True)
class Ran:
    """The runs of a scan. ``request`` is None where it was not run here, ``runs`` where nothing was run at all."""

    request: runner.RunRequest | None = None
    runs: tuple[DynamicRun, ...] | None = None
    environment: Mapping[str, str | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    #: How long it took; None where nothing was run here.
    seconds: float | None = None

    @property
    def came_to_an_end_in_eager(self) -> bool:
        """Whether there are runs, all without an error but for what the compiled code raised."""
        return self.runs is not None and all(run.outcome == "ok" or run.fails_compiled for run in self.runs)


def run(
    plan: RunPlan,
    analysed: Analysed,
    early: Callable[[], None],
    decided: Callable[[Sequence[DynamicRun], float], None],
    fixable: bool,
    session: Session,
) -> Ran:
    """Run the code as far as the verdict needs it; ``early`` is called before.

    ``decided`` gets the runs, and the seconds they took, where the verdict is known and more follows. ``fixable``:
    fixes may be verified, so what comes after the verdict waits until they are (``complete``). Raises UsageError.
    """
    environment = {"python": platform.python_version(), "torch": torch_available()}
    request, reason = run_request(plan, analysed.static)
    if session.interrupts.requested:
        request, reason = None, "interrupted while the files were read: nothing was run"
    if request is None:
        return Ran(environment=environment, notes=(reason,) if reason else ())
    early()
    if plan.only_verdict or fixable:
        request = replace(request, part="verdict")
    started = time.monotonic()
    outputs = tempfile.TemporaryDirectory(prefix="graphdoctor-", ignore_cleanup_errors=True)
    request = replace(request, reference=Path(session.cleanup.enter_context(outputs)))

    known: runner.RunResult | None = None

    def tell(result: runner.RunResult) -> None:
        nonlocal known
        known = result
        if all(each.outcome == "ok" for each in result.runs):
            decided(result.runs, time.monotonic() - started)

    attempted = session.interrupts.attempt(partial(_result, request, session, tell))
    seconds = time.monotonic() - started
    if attempted is None and known is not None:
        return Ran(request, known.runs, {**environment, **known.environment}, (_CUT,), seconds)
    if attempted is None:
        note = "interrupted while the code was run: what a run would add is missing"
        return Ran(environment=environment, notes=(note,), seconds=seconds)
    request, result = attempted
    asked = request.target is not None or request.inputs or request.vary
    if asked and result.runs and all(each.outcome == "no-target" for each in result.runs):
        raise UsageError(result.runs[0].detail)
    if request.part == "verdict" and not plan.only_verdict:
        tell(result)
    return Ran(request, result.runs, {**environment, **result.environment}, (), seconds)


def external(external_runs: ExternalRuns, analysed: Analysed, root: Path) -> Ran:
    """The runs that the caller made elsewhere."""
    runs, environment = external_runs(root, analysed.sources.files)
    return Ran(None, runs, {"python": platform.python_version(), "torch": torch_available(), **environment})


def complete(plan: RunPlan, ran: Ran, session: Session) -> Ran:
    """``ran`` with what comes after the verdict; what fails there only leaves something out."""
    ran = replace(ran, notes=())
    request, runs = ran.request, ran.runs
    if request is None or request.part != "verdict" or not runs or ran.seconds is None or plan.only_verdict:
        return ran
    if not any(each.numerics for each in runs):
        return ran
    started = time.monotonic()
    # The limit is for one run, which this is the end of.
    seconds = round(max(request.timeout - ran.seconds, request.timeout / 2), 1)
    rest = replace(request, timeout=seconds, part="rest", runs=runs)
    complete_runs = session.interrupts.attempt(partial(_rest, rest, session))
    notes = (_CUT,) if complete_runs is None else ()
    took = ran.seconds + time.monotonic() - started
    return replace(ran, runs=complete_runs or runs, notes=notes, seconds=took)


@dataclass(frozen=True)
class Advised:
    """Where to put ``torch.compile``; None where it was not requested, or could not be counted."""

    advice: Advice | None = None
    notes: tuple[str, ...] = ()
    seconds: float | None = None


def advise(plan: RunPlan, ran: Ran, session: Session) -> Advised:
    """Count by further runs where to put ``torch.compile``."""
    if not plan.advise or ran.request is None:
        return Advised()
    from graphdoctor.advise.section import section

    started = time.monotonic()
    given_up = (None, "no advice on where to compile: interrupted")
    counted = partial(section, ran.request, ran.runs or (), session.callbacks.progress, session.server)
    advice, reason = session.interrupts.attempt(counted) or given_up
    return Advised(advice, (reason,) if reason else (), time.monotonic() - started)


def _result(
    request: runner.RunRequest, session: Session, decided: runner.Decided
) -> tuple[runner.RunRequest, runner.RunResult]:
    """What was run and what it gave; where its process does not start, a run that failed."""
    from graphdoctor.dynamic.parent import device_choice, runner, stages

    progress = session.steps.run(request.timeout)
    # The process that the run is a fork of may still be starting.
    progress(stages.TORCH)
    try:
        return device_choice.run(request, progress, session.server, decided)
    except runner.NotStarted as error:
        return request, error.result


def _rest(request: runner.RunRequest, session: Session) -> tuple[DynamicRun, ...]:
    from graphdoctor.dynamic.parent import runner
    from graphdoctor.model.left_out import NOTHING_MORE

    try:
        return runner.run(request, session.steps.run(request.timeout), session.server).runs
    except runner.NotStarted as error:
        *others, last = request.runs
        return (*others, replace(last, left_out=(*last.left_out, f"{NOTHING_MORE}: {error}")))
