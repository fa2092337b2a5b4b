"""The callbacks of a scan, and the worker process that it keeps while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from graphdoctor.interrupt import Interrupts
from graphdoctor.model.findings import Finding, Summary
from graphdoctor.scan.step_progress import StepProgress

if TYPE_CHECKING:
    from graphdoctor.dynamic.parent import runner
    from graphdoctor.model.runs import DynamicRun
    from graphdoctor.scan.plan import Plan

#: Gets a line of progress.
Progress = Callable[[str], None]

#: Gets the static findings before the code is run.
Early = Callable[[Sequence[Finding]], None]

#: Gets the summary and the runs of a verdict after which more follows, and how many seconds the runs took.
Decided = Callable[[Summary, "Sequence[DynamicRun]", float], None]

#: Which of the fixes that could be written shall be.
Choose = Callable[[Sequence[Finding]], Sequence[Finding]]

#: Runs that were made elsewhere, and the environment they ran in; called when the files have been read, with the folder
#: that shown paths start from and the files by shown path.
ExternalRuns = Callable[[Path, Mapping[str, Path]], "tuple[tuple[DynamicRun, ...], Mapping[str, str | None]]"]


@dataclass(frozen=True)
class Callbacks:
    """What the caller of a scan wants to see and to decide."""

    progress: Progress = lambda _text: None
    choose: Choose | None = None
    interrupts: Interrupts = field(default_factory=Interrupts)
    early: Early = lambda _findings: None
    #: Where given, its runs are joined and nothing is run.
    external_runs: ExternalRuns | None = None
    decided: Decided = lambda _summary, _runs, _seconds: None


@dataclass(frozen=True)
class Session:
    """One scan while it runs. ``server`` is the process that workers are forked from; None where nothing is run."""

    callbacks: Callbacks
    steps: StepProgress
    server: runner.Server | None
    cleanup: ExitStack

    @property
    def interrupts(self) -> Interrupts:
        """Ctrl-C, as the caller takes it."""
        return self.callbacks.interrupts

    @property
    def progress(self) -> Progress:
        """Where the progress of reading goes: reading is the only step of a scan that runs nothing."""
        return self.callbacks.progress if self.server is None else self.steps


def started(plan: Plan, callbacks: Callbacks, cleanup: ExitStack) -> Session:
    """The session of a scan. Its worker imports torch while the files are read; ``cleanup`` ends it."""
    server: runner.Server | None = None
    if callbacks.external_runs is None and plan.run.request is not None:
        from graphdoctor.dynamic.parent import runner

        server = cleanup.enter_context(runner.Server())
        # Where it cannot be started, the run reports it.
        with suppress(OSError):
            server.start()
    steps = StepProgress(callbacks.progress, plan.run.mode, plan.verify is not None, not plan.run.only_verdict)
    return Session(callbacks, steps, server, cleanup)
