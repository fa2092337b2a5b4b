"""Proves a change: the code before and after is run, and compared as graphdoctor compares its own fixes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from graphdoctor.api import scan
from graphdoctor.changes.change import Change, as_findings
from graphdoctor.diagnosis.compare import Base, compare
from graphdoctor.dynamic.parent import device_choice, runner
from graphdoctor.fixes.verification.coverage import tests
from graphdoctor.fixes.verification.grading import assumptions
from graphdoctor.fixes.verification.trials import Trial, Trials, break_places
from graphdoctor.model.findings import Diagnosis, Finding
from graphdoctor.model.runs import DynamicRun, Verification
from graphdoctor.scan.copies import Copies
from graphdoctor.scan.options import ScanOptions, UsageError
from graphdoctor.scan.plan import plan_for
from graphdoctor.source.discover import shown

if TYPE_CHECKING:
    from graphdoctor.dynamic.parent.runner import Progress
    from graphdoctor.model.findings import Grade

Verdict = Literal["verified", "not-verified", "refused"]


@dataclass(frozen=True)
class Proof:
    """Whether the change may be made. ``reason`` says what differs or what was not compared; empty where verified.

    ``diagnosis`` is that of the code after the change, compared with the code before.
    """

    verdict: Verdict
    reason: str
    breaks_before: int
    breaks_after: int
    files: tuple[str, ...]
    diagnosis: Diagnosis


def prove(change: Change, options: ScanOptions, progress: Progress = lambda _text: None) -> Proof:
    """Run the sample of the one file that ``options`` name with the code before ``change`` and after it.

    Raises UsageError where nothing can be run.
    """
    plan = plan_for(replace(options, texts=tuple(change.before.items())))
    if plan.run.request is None:
        raise UsageError(f"cannot verify: {plan.run.problem}")
    # The files of a commit or a patch may lie outside of what is given.
    paths = {file: shown(file, plan.inputs.root.resolve()) for file in change.before}
    with (
        tempfile.TemporaryDirectory(prefix="graphdoctor-", ignore_cleanup_errors=True) as folder,
        runner.Server() as server,
    ):
        request = replace(
            plan.run.request,
            watch=(str(plan.run.request.file.resolve()), *map(str, change.before)),
            overlay={str(path): text for path, text in change.before.items()},
            reference=Path(folder),
            recompiles=False,
            deeper=False,
        )
        request, before = device_choice.run(request, progress, server)
        for run in before.runs:
            if run.outcome != "ok":
                raise UsageError(f"cannot verify: the code before the change did not run to its end: {run.detail}")
        copies = Copies(request, {path: file for file, path in paths.items()}, progress, server)
        texts = {path: change.before[file] for file, path in paths.items()}
        findings = as_findings(paths, change)
        trials = Trials(texts, copies, each=False, seconds=request.timeout)
        trials.record(findings, before.runs)
        trial = trials.attempt(findings)
        verdict, reason = _judged(trial, trials, before.runs, findings)
    verification = _verification(trial, trials, before.runs, verdict, reason)
    diagnosis = _diagnosis(options, change, before, trial, verification)
    counts = len(break_places(before.runs)), len(trial.breaks)
    return Proof(verdict, reason, *counts, tuple(sorted(paths.values())), diagnosis)


def _judged(
    trial: Trial, trials: Trials, before: Sequence[DynamicRun], findings: Sequence[Finding]
) -> tuple[Verdict, str]:
    if trial.problem or trial.changes:
        return "refused", trial.problem or trial.changes
    new = len(trial.breaks) - len(break_places(before))
    if new > 0:
        return "refused", f"{new} graph {'break' if new == 1 else 'breaks'} more than before"
    if trial.fullgraph is False and all(run.fullgraph.passes for run in before):
        return "refused", "fullgraph=True passed before and fails now"
    doubts = list(_doubts(trial, trials, findings))
    return ("not-verified", "; ".join(dict.fromkeys(doubts))) if doubts else ("verified", "")


def _doubts(trial: Trial, trials: Trials, findings: Sequence[Finding]) -> Iterator[str]:
    """What was not compared: clauses."""
    if not trial.equal:
        numerics = trial.numerics
        detail = f": {numerics.detail}" if numerics is not None and numerics.detail else ""
        yield f"the results were not compared{detail}"
    if not trials.varied_in_all_modes():
        yield "the code before was not run on varied inputs in each mode"
    for finding in findings:
        yield from tests(finding, trials.texts[finding.location.path], trials.seen)[1]


def _verification(
    trial: Trial, trials: Trials, before: Sequence[DynamicRun], verdict: Verdict, reason: str
) -> Verification:
    breaks = f"{len(trial.breaks)} graph {'break' if len(trial.breaks) == 1 else 'breaks'}, "
    counts = f"{breaks}{len(break_places(before))} before."
    sentences = {
        "verified": f"The change is verified for {assumptions(trials)}.",
        "not-verified": f"The change is not verified: {reason}.",
        "refused": f"The change is refused: {reason}.",
    }
    grade: Grade = "none"
    if verdict != "refused" and trial.equal and trial.fullgraph is not False:
        grade = "setup-required" if trial.breaks else "general"
    return Verification(
        fixes=(),
        graphs=max((run.graphs for run in trial.runs), default=0),
        breaks=len(trial.breaks),
        fullgraph_passes=trial.fullgraph,
        numerics=trial.numerics,
        grade=grade,
        detail=f"{sentences[verdict]} {counts}",
    )


def _diagnosis(
    options: ScanOptions, change: Change, before: runner.RunResult, trial: Trial, verification: Verification
) -> Diagnosis:
    """The findings of the code after the change, joined with its runs and compared with the code before."""

    def joined(texts: Mapping[Path, str], runs: Sequence[DynamicRun]) -> Diagnosis:
        made = replace(options, run=False, texts=tuple(texts.items()))
        return scan(made, ran=lambda _root, _files: (tuple(runs), before.environment))

    head = replace(joined(change.after, trial.runs), verification=verification, command=options.command)
    # How the code before was run, the code after was run too.
    lines = dict.fromkeys(line for run in before.runs for line in run.left_out)
    head = replace(head, notes=(*head.notes, *(line for line in lines if line not in head.notes)))
    return replace(head, comparison=compare(Base("the code before", joined(change.before, before.runs)), head))
